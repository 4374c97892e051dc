import { afterEach, beforeEach, expect } from 'vitest'
import type { PostgresPool } from '../../src/db/postgres/pool.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { systemClock } from '../../src/lib/clock.ts'
import type { AccountRow } from '../../src/model/ids.ts'
import { compactionOf, type LedgerHome } from '../fixtures/ledger/contract-bench.ts'
import { createPostgresLedgerState, type PostgresLedgerState } from './postgres-ledger.ts'

export const LEASE_MS = 600_000

/** A pool that a test may cut: queries then never return, as in a dead process. */
export function cuttable(pool: PostgresPool): { readonly pool: PostgresPool; cut(): void } {
  let isCut = false
  return {
    pool: { query: (text, values) => (isCut ? new Promise(() => {}) : pool.query(text, values)) },
    cut() {
      isCut = true
    },
  }
}

export interface NodeFacts {
  recovered: number
  leasesLost: number
  readonly troubles: unknown[]
}

export async function openNode(
  pool: PostgresPool,
  over: { leaseMs?: number; retryMs?: number; clock?: { readonly nowMicros: () => number } } = {},
): Promise<{ ledger: Ledger; facts: NodeFacts }> {
  const facts: NodeFacts = { recovered: 0, leasesLost: 0, troubles: [] }
  const ledger = await openPostgresLedger({
    pool,
    clock: systemClock,
    markIntervalMs: 20,
    leaseMs: LEASE_MS,
    retryMs: 5000,
    ...over,
    observer: {
      trouble: (error) => void facts.troubles.push(error),
      recovered(holds) {
        facts.recovered += holds
      },
      leaseLost() {
        facts.leasesLost++
      },
      recorded() {},
      closed() {},
    },
  })
  return { ledger, facts }
}

/** The home of the contract on PostgreSQL: one node, and after a crash the next one. */
export function usePostgresHome(): LedgerHome & { readonly ledgerState: PostgresLedgerState } {
  let ledgerState: PostgresLedgerState
  let account: AccountRow
  let node: Awaited<ReturnType<typeof openNode>>
  let connection: ReturnType<typeof cuttable>
  let aheadMs: number

  const open = async () => {
    connection = cuttable(ledgerState.connect() as PostgresPool)
    node = await openNode(connection.pool)
  }
  const advance = async (ms: number) => {
    aheadMs += ms
    await ledgerState.setClock({ aheadMs })
  }

  beforeEach(async () => {
    aheadMs = 0
    ledgerState = await createPostgresLedgerState()
    account = await ledgerState.addAccount()
    await open()
  })
  afterEach(async () => {
    await node.ledger.close()
    await ledgerState.close()
  })

  return {
    get ledgerState() {
      return ledgerState
    },
    get ledger() {
      return node.ledger
    },
    get account() {
      return account
    },
    get recovered() {
      return node.facts.recovered
    },
    async advance(ms) {
      await advance(ms)
      // A node that is alive renews its lease meanwhile.
      await ledgerState.pool.query('UPDATE nodes SET lease_until = lease_until + $1 WHERE lease_until > 0', [ms])
    },
    now: async () => Number((await ledgerState.pool.query('SELECT ledger_micros() / 1000 AS now')).rows[0].now),
    async crash() {
      connection.cut()
      await advance(LEASE_MS)
      await open()
    },
    async receipt(requestId) {
      const { rows } = await ledgerState.pool.query(RECEIPT, [requestId])
      const found = rows[0]
      if (!found) return undefined
      const amount = (text: string | null) => (text === null ? null : BigInt(text))
      const { state, outcome, output, estimated } = found
      const [charge, shortfall] = [amount(found.charge), amount(found.shortfall)]
      const compaction = compactionOf(found.before, found.after)
      return { state, outcome, output, estimated, charge, shortfall, compaction }
    },
    async untilMarked() {
      const marks = async () => (await ledgerState.pool.query('SELECT node FROM marks')).rows.length
      await expect.poll(marks).toBe(1)
    },
    async freeze() {
      await ledgerState.pool.query('UPDATE accounts SET frozen_at = 1')
    },
    async violations() {
      const violations = await ledgerState.violations()
      expect(violations).toEqual([])
      return violations.length
    },
  }
}

const RECEIPT = `SELECT state, outcome, output::integer, estimated, charge_nano::text AS charge, shortfall_nano::text AS shortfall,
    tokens_before::integer AS before, tokens_after::integer AS after
  FROM receipts WHERE request_id = $1`
