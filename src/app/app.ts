import type { UsageKeeper } from '../admin/count-usage.ts'
import type { CountedInputs } from '../admin/models.ts'
import type { OperationDeps } from '../admin/operations.ts'
import type { PeopleDeps } from '../admin/people-deps.ts'
import type { RefusedTurnCounter } from '../admin/refused-turns.ts'
import type { ServerStatus } from '../admin/server-status.ts'
import type { CallerFinder } from '../auth/callers.ts'
import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { KeptAnswers } from '../db/content/kept-answers.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { LedgerMark } from '../db/meta.ts'
import type { Database } from '../db/open-database.ts'
import type { SqliteFile } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { SteadyClock } from '../lib/steady-clock.ts'
import type { Seals } from '../model/seals.ts'
import type { EstimateErrors } from '../pricing/estimate.ts'
import type { LaneHealth } from '../routing/lane-health.ts'
import type { Edge } from '../server/listener.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { DatabaseKeyring } from './key-ring.ts'
import type { ContentFound } from './open-content.ts'
import type { Overrides } from './overrides.ts'
import type { RuleBook } from './rules.ts'
import type { Drainable } from './shutdown.ts'

/** What a house is built on: handed in, so that a test decides it. The data folder is there. */
export interface AppOptions {
  readonly settings: LoadedConfig
  readonly clock: Clock
  readonly random: RandomBytes
  /** A server logs to stdout as configured; a single command of the operator keeps silent. */
  readonly purpose: 'server' | 'command'
  /** Left out, all are `OUR_MEANS`. */
  readonly overrides?: Partial<Overrides>
}

/** `app/create-app.ts` implements this: everything is built once, in the order in which things need each other. */
export type OpenApp = (ground: AppOptions) => Promise<AppOutcome>

export type AppOutcome =
  | { readonly kind: 'open'; readonly app: App }
  /** Another process has the database file. */
  | { readonly kind: 'locked' }
  /** Sealed by another key ring, tables of somebody else, a newer schema: a sentence that says what to do. */
  | { readonly kind: 'refused'; readonly message: string }

/**
 * Key ring, database, migrations, books (recovered) and catalogue: what a command of the operator needs, and what a
 * server starts from. Nothing listens yet.
 */
export interface App {
  /** All that the operator's use cases need, but for the status, which only a server has. */
  readonly operations: Omit<OperationDeps, 'status'>
  /** False while a failed batch is being read back. */
  readonly ledgerAvailable: () => boolean
  /** e.g. `libsql 3.45.1`. */
  readonly driver: string
  readonly log: AppLog
  /** What requests are judged by; a reload swaps them. */
  readonly rules: RuleBook
  /** Builds the edge, the turns, the metrics and the sweeper. Called once, by a server; `close` ends these too. */
  openServing(facts: ServerFacts): Promise<Serving>
  /** What the operator has to know of the files in the data folder; said in the log already. */
  readonly notices: readonly string[]
  /** Resolves with why, when the thread of a database has ended by itself: from then on nothing can be admitted or kept. */
  readonly died: Promise<Error>
  /** Closes in reverse what was opened; the last thing that lets go is the database. Only the log stays open. */
  close(): Promise<void>
}

/** What a server can say of itself once it runs. */
export interface ServerFacts {
  readonly version: string
  readonly status: () => ServerStatus
}

/** Whoever opened the house closes its log, last of all. */
export interface AppLog {
  info(facts: object, message: string): void
  warn(facts: object, message: string): void
  error(facts: object, message: string): void
  close(): Promise<void>
}

/** What listens, and what its end needs. */
export interface Serving extends Drainable {
  readonly listen: Edge['listen']
  /** The metrics server, on a port of its own. */
  readonly listenMetrics: Edge['listen']
  /** Gives up the connections to providers that are in no rule any more; running calls finish. */
  retireConnections(): Promise<void>
}

/** What everything else is built on. */
export interface Core {
  readonly config: Config
  /** Ledger time. */
  readonly clock: SteadyClock
  readonly random: RandomBytes
  readonly overrides: Overrides
  readonly log: Log
  readonly metrics: Metrics
  readonly database: Database
  /** Of the database: what nearly everybody asks. */
  readonly db: LedgerDb
  readonly ring: DatabaseKeyring
  /** How far the ledger has got, durably: content.db notes it. */
  readonly progress: { mark: LedgerMark }
  /** The thread of a database has ended: this process can go on no more. */
  readonly onDeath: (death: Error) => void
}

/** The second file, and what is kept in it. */
export interface Contents {
  readonly content: SqliteFile
  readonly answers: KeptAnswers
  readonly responses: StoredResponses
  readonly refusedTurns: RefusedTurnCounter
  readonly contentFound: ContentFound
}

/** The ledger, and what counts in the second file what it has recorded. */
export interface OpenedLedger {
  readonly ledger: Ledger
  readonly usage: UsageKeeper
}

/** All that exists, each thing once: `app/create-app.ts` is the list in which they are made. */
export interface Services extends Core, Contents, OpenedLedger {
  readonly rules: RuleBook
  readonly people: PeopleDeps
  readonly seals: Seals
  readonly health: LaneHealth
  readonly countedInputs: CountedInputs
  readonly estimateErrors: EstimateErrors
  readonly finder: CallerFinder
}
