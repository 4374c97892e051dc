import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findAccountByEmail } from '../db/accounts.ts'
import { openContent } from '../db/content/open-content.ts'
import { findKeyById } from '../db/keys.ts'
import { type Database, openDatabase } from '../db/open-database.ts'
import { insertAccount, insertKey } from '../db/set-up.fixture.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import { requestFor } from '../ledger/contract-bench.fixture.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { openLedger } from '../ledger/open-ledger.ts'
import type { AdmitRequest } from '../ledger/state/admit-turn.ts'
import type { Clock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import type { Allowance } from '../model/allowance.ts'
import type { KeyKind } from '../model/caller.ts'
import { settlement } from '../model/ending.fixture.ts'
import type { TurnOutcome } from '../model/ending.ts'
import { type AccountId, type AccountRow, type KeyRow, mintAccountId, mintKeyId, mintRequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { createUsageKeeper, type UsageKeeper } from './count-usage.ts'
import { createRefusedTurnCounter, type RefusedTurnCounter } from './refused-turns.ts'
import type { UsageOverviewDeps } from './usage-overview.ts'

export interface BenchAccount {
  readonly row: AccountRow
  readonly id: AccountId
  readonly keys: readonly { readonly row: KeyRow; readonly id: string; readonly kind: KeyKind }[]
}

/** What a request came to. Without usage it is released. */
export interface Asked {
  readonly account: BenchAccount
  readonly key: BenchAccount['keys'][number]
  readonly model: string
  readonly outcome: TurnOutcome
  readonly tokens: readonly [number, number, number, number, number] | undefined
  readonly cost: bigint
}

/** A real ledger and a real file of contents, at a time that stands until a test moves it on. */
export interface UsageBench {
  readonly clock: Clock & { at: number }
  readonly database: Database
  readonly ledger: Ledger
  readonly content: SqliteFile
  readonly keeper: UsageKeeper
  readonly refusedTurns: RefusedTurnCounter
  /** What reports are made from. */
  readonly sources: UsageOverviewDeps
  readonly failures: unknown[]
  /** Writes to the file of contents that are to fail. */
  failing: number
  addAccount(email: string): Promise<BenchAccount>
  /** Admitted and ended, both durable. */
  ask(asked: Asked): Promise<void>
  /** As after a kill: nothing is finished, and the files are as they are. Whatever `between` does happens in between. */
  restart(between?: () => Promise<void>): Promise<void>
  copyContent(name: string): Promise<void>
  putBackContent(name: string): Promise<void>
  loseContent(): Promise<void>
  copyLedger(name: string): Promise<void>
  putBackLedger(name: string): Promise<void>
  close(): Promise<void>
}

const MUCH = 1_000_000_000_000_000n as NanoUsd
const WINDOW: Allowance = {
  ...{ subject: 'window:month', unit: 'quota', name: 'month', cycle: { kind: 'month', day: 1 }, amount: MUCH },
}
const FILES = ['', '-wal', '-shm', '-journal']

export async function openUsageBench(begin: number): Promise<UsageBench> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-usage-'))
  let nowMicros = 0
  const clock = { at: begin, now: () => clock.at, nowMicros: () => ++nowMicros }
  const failures: unknown[] = []
  const parts = {} as Pick<UsageBench, 'database' | 'ledger' | 'content' | 'keeper' | 'refusedTurns'>

  const open = async () => {
    const database = await openDatabase({ path: join(folder, 'ledger.db'), clock })
    const file = await openContent({ path: join(folder, 'content.db'), clock })
    const content: SqliteFile = {
      ...file,
      async atomic(statements) {
        if (bench.failing <= 0) return file.atomic(statements)
        bench.failing -= 1
        throw new Error('the disk is full')
      },
    }
    const onFailure = (error: unknown) => failures.push(error)
    const keeper = createUsageKeeper({ ...{ db: database.db, content, clock, intervalMs: 1 }, onFailure })
    // Nobody waits that long: what a test reads it has asked for.
    const refusedTurns = createRefusedTurnCounter({ ...{ content, clock, intervalMs: 3_600_000 }, onFailure })
    const ledger = await openLedger({
      ...{
        db: database.db,
        patientDb: database.patientDb,
        file: database.file,
        journal: database.journal,
        clock,
        markIntervalMs: 1000,
      },
      observer: {
        batchRecorded: ({ changes }) => keeper.note(changes),
        batchFailed: onFailure,
        recovered() {},
        doesNotAddUp() {},
      },
    })
    Object.assign(parts, { database, ledger, content, keeper, refusedTurns })
  }
  const close = async () => {
    await parts.ledger.close()
    await parts.keeper.close()
    await parts.refusedTurns.close()
    await parts.content.close()
    await parts.database.close()
  }
  const fromTo = async (from: string, to: string) => {
    for (const end of FILES) {
      await rm(join(folder, to + end), { force: true })
      await copyFile(join(folder, from + end), join(folder, to + end)).catch(() => {})
    }
  }

  const bench: UsageBench = {
    clock,
    failures,
    failing: 0,
    get database() {
      return parts.database
    },
    get ledger() {
      return parts.ledger
    },
    get content() {
      return parts.content
    },
    get keeper() {
      return parts.keeper
    },
    get refusedTurns() {
      return parts.refusedTurns
    },
    get sources() {
      const { database, content, keeper, refusedTurns } = parts
      return { db: database.db, content, usage: keeper, refusedTurns, clock }
    },
    addAccount: (email) => addAccount(bench, email),
    ask: (asked) => ask(bench, asked),
    async restart(between) {
      await close()
      await between?.()
      await open()
    },
    copyContent: (name) => fromTo('content.db', name),
    putBackContent: (name) => fromTo(name, 'content.db'),
    loseContent: () => fromTo('nothing', 'content.db'),
    copyLedger: (name) => fromTo('ledger.db', name),
    putBackLedger: (name) => fromTo(name, 'ledger.db'),
    async close() {
      await close()
      await rm(folder, { recursive: true })
    },
  }
  await open()
  return bench
}

async function addAccount({ database, ledger, clock }: UsageBench, email: string): Promise<BenchAccount> {
  await insertAccount(database.file, { id: mintAccountId(secureRandom), email, createdAt: clock.at })
  const { row, id } = (await findAccountByEmail(database.db, email))!
  const account = row as AccountRow
  await ledger.credit({ account, kind: 'credit', amount: MUCH, reason: 'test', ref: 'first' })
  await ledger.assignPlan({ account, plan: 'builder', windows: [WINDOW], endsAt: undefined })
  const keys = []
  for (const kind of ['wallet', 'builder', 'wallet', 'builder'] as const) {
    const key = mintKeyId(secureRandom)
    await insertKey(database.db, {
      ...{ id: key, account: row, kind, name: `=${kind} "${keys.length}"`, digest: secureRandom(32), shown: 'x' },
      ...{
        models: null,
        limits: null,
        expires_at: null,
        created_at: clock.at,
        cap_day_nano: null,
        cap_month_nano: null,
      },
    })
    keys.push({ row: (await findKeyById(database.db, key))!.row as KeyRow, id: key, kind })
  }
  return { row: account, id: id as AccountId, keys }
}

async function ask({ ledger }: UsageBench, { account, key, model, outcome, tokens, cost }: Asked): Promise<void> {
  const over: Partial<AdmitRequest> = {
    ...{ requestId: mintRequestId(Date.UTC(2026, 0, 1), secureRandom), key: key.row, kind: key.kind, model },
    ...(key.kind === 'builder' ? { allowances: [WINDOW], plan: 'builder' } : {}),
  }
  const turn = await ledger.admit(requestFor(account.row, over))
  if (turn.kind !== 'admitted') throw new Error(`refused: ${turn.refusal.kind}`)
  const ending = settlement(cost)
  if (tokens === undefined) await turn.settle({ ...ending, outcome, owed: undefined })
  else {
    const [uncachedInput, cachedInput, cacheWrite, output, reasoning] = tokens
    const usage = { uncachedInput, cachedInput, cacheWrite, output, reasoning, estimated: false }
    await turn.settle({ ...ending, outcome, owed: { usage, tier: 0, cost: cost as NanoUsd } })
  }
  turn.leave()
}
