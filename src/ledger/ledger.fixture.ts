import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { afterEach, beforeEach, expect } from 'vitest'
import { findAccountByEmail } from '../db/accounts.ts'
import { listLiveBuckets } from '../db/allowances.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import { insertAccount } from '../db/set-up.fixture.ts'
import { SqliteFailure } from '../db/sqlite/failure.ts'
import { createSqliteDialect } from '../db/sqlite/kysely-dialect.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerTables } from '../db/tables.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { type AccountRow, mintAccountId, type RequestId } from '../model/ids.ts'
import type { NanoUsd, PicoPerToken } from '../model/money.ts'
import { HOLD, requestFor } from './contract-bench.fixture.ts'
import type { AdmittedTurn, Ledger } from './ledger.ts'
import { openLedger } from './open-ledger.ts'
import { recordPrices } from './prices.ts'
import type { AdmitRequest } from './state/admit-turn.ts'
import { verifyLedgerState } from './verify.ts'

/** A real ledger on a real file, whose questions a test may hold back and whose clock it may set. */
export interface LedgerBench {
  readonly database: Database
  readonly ledger: Ledger
  readonly account: AccountRow
  readonly clock: { aheadMs: number; aheadMicros: number }
  /** What recovery finds of kept answers. */
  readonly keptFacts: Map<RequestId, string>
  readonly failures: unknown[]
  recovered: number
  /** As after a kill: whatever was in memory is gone, the file is as the last commit left it. */
  reopen(): Promise<void>
  credit(amount: bigint, ref?: string): ReturnType<Ledger['credit']>
  admit(over?: Partial<AdmitRequest>): Promise<AdmittedTurn & { requestId: RequestId }>
  request(over?: Partial<AdmitRequest>): AdmitRequest
  run(sql: string): Promise<void>
  /** As a disk with a fault: what the ledger writes with such a statement fails. Undefined: nothing any more. */
  failWrites(statements: RegExp | undefined): void
  /** The next question about this table waits until the answer is let go. */
  holdQuestion(table: string): { asked: Promise<void>; letGo(): void }
  /** Memory says of the account what the file says. */
  expectMemoryIsTheFile(): Promise<void>
  expectBalancedLedger(): Promise<void>
}

export { HOLD }

const pico = (value: number) => BigInt(value) as PicoPerToken
export const PRICE = {
  input: pico(1_000_000),
  cachedInput: pico(100_000),
  cacheWrite: pico(1_000_000),
  output: pico(5_000_000),
  perRequest: 0n as NanoUsd,
  tiers: [],
}

export function useLedger(options: { markIntervalMs: number } = { markIntervalMs: 20 }): LedgerBench {
  let folder: string
  let database: Database
  let ledger: Ledger
  let account: AccountRow
  let refused: RegExp | undefined
  let held: { table: string; asked(): void; letGo: Promise<void> } | undefined
  const offset = { aheadMs: 0, aheadMicros: 0 }
  let latest = 0
  const clock: Clock = {
    // As the ledger's own clock, it never goes back.
    now() {
      latest = Math.max(latest, systemClock.now() + offset.aheadMs)
      return latest
    },
    nowMicros: () => systemClock.nowMicros() + offset.aheadMicros,
  }
  const keptFacts = new Map<RequestId, string>()
  const failures: unknown[] = []

  const patient = (file: SqliteFile): SqliteFile => ({
    driver: file.driver,
    async atomic(statements) {
      if (refused && statements.some(({ sql }) => refused?.test(sql))) {
        throw new SqliteFailure('disk I/O error', 'SQLITE_IOERR')
      }
      return file.atomic(statements)
    },
    atomicEach: (groups) => file.atomicEach(groups),
    close: () => file.close(),
    async all(sql, parameters) {
      if (held && sql.includes(`from "${held.table}"`)) {
        const { asked, letGo } = held
        held = undefined
        asked()
        await letGo
      }
      return file.all(sql, parameters)
    },
  })

  const open = async () => {
    database = await openDatabase({ path: join(folder, 'ledger.db'), clock })
    const file = patient(database.file)
    ledger = await openLedger({
      db: new Kysely<LedgerTables>({ dialect: createSqliteDialect(file) }),
      patientDb: database.patientDb,
      file,
      journal: database.journal,
      clock,
      markIntervalMs: options.markIntervalMs,
      async findKeptFacts(requests) {
        const found = [...keptFacts].filter(([requestId]) => requests.includes(requestId))
        return new Map(found.map(([requestId, facts]) => [requestId, { facts, givenAgain: true }]))
      },
      observer: {
        batchRecorded() {},
        batchFailed: (error) => void failures.push(error),
        recovered(holds) {
          bench.recovered += holds
        },
        doesNotAddUp: (_, error) => void failures.push(error),
      },
    })
  }
  const close = async () => {
    await ledger.close()
    await database.close()
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'millrace-ledger-'))
    Object.assign(offset, { aheadMs: 0, aheadMicros: 0 })
    latest = 0
    keptFacts.clear()
    failures.length = 0
    bench.recovered = 0
    held = undefined
    refused = undefined
    await open()
    await insertAccount(database.file, { id: mintAccountId(secureRandom), email: 'a@example.com', createdAt: 1 })
    account = (await findAccountByEmail(database.db, 'a@example.com'))?.row as AccountRow
    await recordPrices({ db: database.db, now: () => 1 }, new Map([['demo', PRICE]]))
  })
  afterEach(async () => {
    await close()
    await rm(folder, { recursive: true })
  })

  const bench: LedgerBench = {
    get database() {
      return database
    },
    get ledger() {
      return ledger
    },
    get account() {
      return account
    },
    clock: offset,
    keptFacts,
    failures,
    recovered: 0,
    async reopen() {
      await close()
      await open()
    },
    credit: (amount, ref = 'first') =>
      ledger.credit({ account, kind: 'credit', amount: amount as NanoUsd, reason: 'test', ref }),
    request: (over) => requestFor(account, over),
    async admit(over) {
      const request = bench.request(over)
      const admission = await ledger.admit(request)
      if (admission.kind !== 'admitted') throw new Error(`refused: ${admission.refusal.kind}`)
      return Object.assign(admission, { requestId: request.requestId })
    },
    run: async (sql) => void (await database.file.atomic([{ sql, rows: [[]] }])),
    failWrites(statements) {
      refused = statements
    },
    holdQuestion(table) {
      let letGo = () => {}
      const released = new Promise<void>((resolve) => {
        letGo = resolve
      })
      const asked = new Promise<void>((resolve) => {
        held = { table, asked: resolve, letGo: released }
      })
      return { asked, letGo }
    },
    async expectMemoryIsTheFile() {
      const { balance, held: holding } = await ledger.standing(account)
      const wallet = { subject: 'wallet', posted_nano: balance, held_nano: holding }
      expect(await listLiveBuckets(database.db, account)).toContainEqual(expect.objectContaining(wallet))
    },
    async expectBalancedLedger() {
      const { report } = await verifyLedgerState({ db: database.db })
      expect(report.checks.filter(({ violations }) => violations > 0)).toEqual([])
      expect(report).toMatchObject({ ok: true, violations: 0 })
    },
  }
  return bench
}
