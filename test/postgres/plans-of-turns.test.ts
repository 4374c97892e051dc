import { expect, it } from 'vitest'
import type { PostgresPool } from '../../src/db/postgres/pool.ts'
import type { AdmitRequest } from '../../src/ledger/state/turns.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { KeyRow } from '../../src/model/ids.ts'
import { HOLD, HOUR, limitOf, requestFor, usd } from '../fixtures/ledger/contract-bench.ts'
import { spendCapOf } from '../fixtures/model/allowance.ts'
import { settlement } from '../fixtures/model/ending.ts'
import { openNode } from './postgres-bench.ts'
import { createPostgresLedgerState, type PostgresLedgerState, postgres } from './postgres-ledger.ts'

const NODES = 2
const ACCOUNTS = 200
const OPEN = 1
const TURNS = 64
const ROUNDS = 60
/**
 * Of one index: a row is looked up a few times in a turn, and each of its former versions that VACUUM has not removed yet is read too. All
 * of an index would be at least as many as there are accounts.
 */
const READ_OF_TURN = ACCOUNTS / 2
const TABLES = ['accounts', 'buckets', 'claims', 'limits', 'receipts', 'spend_counters']

const KINDS: Readonly<Record<string, (turn: number) => Partial<AdmitRequest>>> = {
  plain: () => ({}),
  'with a limit, a cap and an idempotency key': (turn) => ({
    key: (turn + 1) as KeyRow,
    limits: [{ ...limitOf('requests', 1_000_000), subject: `key:${turn + 1}:requests` }],
    allowances: [spendCapOf(turn + 1, 'day', HOLD * 10n)],
    claim: { scope: `key ${turn}`, fingerprint: 'print', expiresAt: systemClock.now() + HOUR },
  }),
}

/** How many entries or rows of each index and table have been read. */
async function countReads({ pool }: PostgresLedgerState): Promise<Record<string, number>> {
  const { rows } = await pool.query(
    `SELECT indexrelname AS name, idx_tup_read::integer AS read FROM pg_stat_user_indexes WHERE relname = ANY ($1)
      UNION ALL SELECT relname, seq_tup_read::integer FROM pg_stat_user_tables WHERE relname = ANY ($1)`,
    [TABLES],
  )
  return Object.fromEntries(rows.map(({ name, read }) => [name, read]))
}

/** A plan that reads all of an index costs nothing while its table is small. PostgreSQL keeps it, and the table grows. */
it.skipIf(!postgres).each(Object.entries(KINDS))(
  'turns read no more of a table than their rows: %s',
  async (_, over) => {
    const state = await createPostgresLedgerState()
    try {
      const pools = Array.from({ length: NODES }, () => state.connect(1))
      const nodes = await Promise.all(pools.map((pool) => openNode(pool as PostgresPool)))
      const ledgerOf = (turn: number) => nodes[turn % NODES]!.ledger
      const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => state.addAccount()))
      for (const account of accounts)
        await ledgerOf(0).credit({ account, kind: 'credit', amount: usd(HOLD * 1000n), reason: 'test', ref: 'first' })
      let begun = 0
      const openTurn = async (turn: number) => {
        const request = requestFor(accounts[turn % ACCOUNTS]!, over(turn))
        const claim = request.claim && (await ledgerOf(turn).lookUpClaim(request.claim.scope))
        const admission = await ledgerOf(turn).admit(request)
        claim?.release()
        if (admission.kind !== 'admitted') throw new Error(JSON.stringify(admission.refusal))
        return admission
      }
      const openTurns = (count: number) => Promise.all(Array.from({ length: count }, () => openTurn(begun++)))
      const standing = await openTurns(OPEN)
      await state.pool.query('ANALYZE')
      const before = await countReads(state)
      for (let round = 0; round < ROUNDS; round++)
        await Promise.all((await openTurns(TURNS)).map((turn) => turn.settle(settlement(HOLD))))
      for (const pool of pools) await pool.query('SELECT pg_stat_force_next_flush()')
      const after = await countReads(state)
      const readOfTurn = Object.entries(after).map(
        ([name, read]) => [name, (read - before[name]!) / (TURNS * ROUNDS)] as const,
      )
      expect(
        readOfTurn.filter(([, read]) => read > READ_OF_TURN),
        JSON.stringify(readOfTurn),
      ).toEqual([])
      expect(Object.fromEntries(readOfTurn).receipts_pkey).toBeGreaterThan(0.9)
      await Promise.all(standing.map((turn) => turn.settle(settlement(HOLD))))
      for (const { ledger } of nodes) await ledger.close()
    } finally {
      await state.close()
    }
  },
)
