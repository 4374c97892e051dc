import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import type { Beside } from '../../test/fixtures/ledger/state/beside.ts'
import { runBeside } from '../../test/fixtures/ledger/state/run-beside.ts'
import { SEQUENCES } from '../../test/fixtures/ledger/state/sequence-steps.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import { recordChanges } from '../db/record-changes.ts'
import type { RequestId } from '../model/ids.ts'
import { loadAccountState } from './accounts.ts'
import { insertPrice } from './prices.ts'
import { NO_LIMITS, readLedgerState } from './recovery.ts'
import type { AccountState, Change, OpenTurn } from './state/state.ts'
import { verifyLedgerState } from './verify.ts'

const SEED = 604
const SEQUENCES_RUN = 20

it('the state read from the file is the one in memory, however the changes were batched', async () => {
  const seen = { operations: 0, batches: 0, periods: 0, openTurns: 0, claims: 0, compactions: 0 }
  const property = fc.asyncProperty(SEQUENCES, fc.infiniteStream(fc.integer({ min: 1, max: 30 })), (sequence, sizes) =>
    withDatabase(async (database) => {
      const recorded: (readonly Change[])[] = []
      const beside = runBeside(
        sequence,
        () => {},
        (changes) => recorded.push(changes),
      )
      while (recorded.length > 0) {
        const batch = recorded.splice(0, sizes.next().value)
        await database.file.atomic(recordChanges([{ changes: batch.flat() }], undefined))
        seen.batches++
      }
      await expectTheFileSaysTheSame(database, beside)
      seen.operations += sequence.steps.length
      seen.openTurns += beside.ledgerState.turns.size
      for (const { periods, endedWithHolds } of beside.ledgerState.accounts.values())
        seen.periods += periods.size + endedWithHolds.size
      seen.compactions += beside.facts.turns.filter(({ compaction }) => compaction).length
      seen.claims += [...beside.ledgerState.claims.values()].filter((claim) => claim).length
    }),
  )
  await fc.assert(property, { seed: SEED, numRuns: SEQUENCES_RUN, endOnFailure: true })
  console.info(`state on file: seed ${SEED}, ${JSON.stringify(seen)}`)
  for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(20)
}, 120_000)

async function withDatabase(run: (database: Database) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-any-sequence-'))
  const database = await openDatabase({ path: join(folder, 'ledger.db'), clock: { now: () => 1, nowMicros: () => 0 } })
  try {
    for (let account = 1; account <= 12; account++) {
      const email = `${account}@example.com`
      await insertAccount(database.file, { id: `acct_${account}`, email, createdAt: 0 })
    }
    await insertPrice(database.db, { model: 'demo', version: 1, terms: '{}', since: 0 })
    await run(database)
  } finally {
    await database.close()
    rmSync(folder, { recursive: true })
  }
}

async function expectTheFileSaysTheSame({ db }: Database, { ledgerState, facts }: Beside): Promise<void> {
  const scopes = [...ledgerState.claims.keys()]
  const read = await readLedgerState(db, (requestId) => ledgerState.turns.get(requestId)?.limits ?? NO_LIMITS, scopes)
  for (const [account, shelved] of ledgerState.accounts) {
    const stored = read.accounts.get(account) ?? (await loadAccountState(db, account))
    expect(plain(stored)).toEqual(plain({ ...shelved, frozen: false }))
  }
  expect(running(read.turns)).toEqual(running(ledgerState.turns))
  expect(read.issued).toBe(ledgerState.issued)
  for (const [scope, claim] of ledgerState.claims) expect(read.claims.get(scope)).toEqual(claim)
  const receipts = await db.selectFrom('receipts').select(['tokens_before', 'tokens_after']).orderBy('row').execute()
  const compactions = facts.turns.map(({ compaction }) => compaction)
  expect(receipts).toEqual(
    compactions.map((each) => ({ tokens_before: each?.tokensBefore ?? null, tokens_after: each?.tokensAfter ?? null })),
  )
  expect((await verifyLedgerState({ db })).report).toMatchObject({ ok: true, violations: 0 })
}

/** A turn from an earlier period of a cap has nothing left to count there, and the file does not say where it counted. */
const running = (turns: ReadonlyMap<RequestId, OpenTurn>) =>
  [...turns].map(([requestId, turn]) => [
    requestId,
    { ...turn, counted: turn.counted.filter(({ counter }) => counter.firstReceipt <= turn.receipt) },
  ])

/** Sets and maps are compared by what is in them, in the order of the rows. */
const plain = ({ periods, endedWithHolds, ...rest }: AccountState) => ({
  ...rest,
  periods: Object.fromEntries(periods),
  endedWithHolds: [...endedWithHolds].sort((one, other) => one.row - other.row),
})
