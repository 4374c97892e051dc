import type { ServedCounter } from '../admin/count-served.ts'
import type { CountedInputs, RefusedTurnCounter, UsageKeeper } from '../admin/count-usage.ts'
import type { StatusSources } from '../admin/server-status.ts'
import type { AdminServices, NoticeAdmin } from '../admin/services.ts'
import type { SignInServices } from '../admin/sessions.ts'
import type { Callers } from '../auth/callers.ts'
import type { Config } from '../config/config.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { TlsPair } from '../config/tls.ts'
import type { StoredCallSeals } from '../db/content/call-seals.ts'
import type { Conversations } from '../db/content/conversations.ts'
import type { KeptAnswers } from '../db/content/kept-answers.ts'
import type { openContent } from '../db/content/open-content.ts'
import type { StoredResponses } from '../db/content/stored-responses.ts'
import type { LedgerMark } from '../db/meta.ts'
import type { Database, openDatabase } from '../db/open-database.ts'
import type { openPostgres, PostgresDatabase } from '../db/postgres/open-database.ts'
import type { SettleJournal } from '../db/settle-journal.ts'
import type { SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock, SteadyClock } from '../lib/clock.ts'
import type { Quarantined } from '../lib/files.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { Seals } from '../model/event.ts'
import type { DeliveryServices, InvitationMail } from '../notices/deliver.ts'
import type { NoticeWatch } from '../notices/watch.ts'
import type { EstimateErrors } from '../pricing/estimate.ts'
import type { ResolveHost } from '../providers/address-guard.ts'
import type { LaneHealth } from '../routing/circuit-breaker.ts'
import type { Edge } from '../server/listener.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { DatabaseKeyring, DatabaseSeals } from './key-ring.ts'
import type { LoadSettings, Managed } from './managed-entries.ts'
import type { PricesAsOf, RuleBook } from './rules.ts'
import type { Drainable } from './shutdown.ts'

/** What the program is built from. The data folder exists. */
export interface AppOptions {
  readonly settings: LoadedConfig
  /** Loads the same again, with managed entries. */
  readonly loadSettings: LoadSettings
  readonly clock: Clock
  readonly random: RandomBytes
  /** A server logs to stdout as configured; a command of the operator logs errors only, to stderr. */
  readonly purpose: 'server' | 'command'
  /** Undefined in a server of one process. */
  readonly worker?: WorkerPlace | undefined
  /** For tests. */
  readonly overrides?: Partial<Overrides>
}

/** Which worker of how many a process is. */
export interface WorkerPlace {
  readonly number: number
  readonly of: number
}

/** What tests replace: access to the machine, and waiting times that no configuration sets. */
export interface Overrides {
  readonly openDatabase: typeof openDatabase
  readonly openPostgres: typeof openPostgres
  readonly openContent: typeof openContent
  readonly resolveHost: ResolveHost
  /** How long running answers go on while the ledger cannot be written. */
  readonly outageGraceMs: number
  /** The pause before the first read-back of a ledger that could not be written. */
  readonly readBackPauseMs: number
  /** OTEL_SEMCONV_STABILITY_OPT_IN: which names spans have. */
  readonly otelOptIn?: string | undefined
  /** What the lease of a node on PostgreSQL is measured by, where a test sets the clock. */
  readonly leaseNowMicros?: (() => number) | undefined
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number
}

export type OpenApp = (options: AppOptions) => Promise<AppOutcome>

export type AppOutcome =
  | { readonly kind: 'open'; readonly app: App }
  /** Another process has locked the database file. */
  | { readonly kind: 'locked' }
  /** Sealed by another key ring, foreign tables, a newer schema: the message says what to do. */
  | { readonly kind: 'refused'; readonly message: string }

/**
 * Key ring, database, migrations, the recovered ledger and the catalogue: what an operator command needs, and what a server
 * starts from. Nothing listens yet. `create-app.ts` builds it.
 */
export interface App {
  /** The services of the operator's use cases. Only a server adds the status. */
  readonly operations: Omit<AdminServices, 'status'>
  /** False while a failed batch is read back. */
  readonly ledgerAvailable: () => boolean
  /** For example `libsql 3.45.1`. */
  readonly driver: string
  readonly log: AppLog
  /** With what operators manage beside the file. */
  readonly settings: LoadedConfig
  readonly managed: Managed
  /** Replaced as a whole by a reload. */
  readonly rules: RuleBook
  /** Builds the HTTP servers, the turns and the periodic jobs. A server calls it once; `close` closes these too. */
  openServing(facts: ServerFacts): Promise<Serving>
  /** What the operator has to know about files in the data folder. The log has it already. */
  readonly notices: readonly string[]
  /** Resolves with the reason when the thread of a database has ended. After that nothing can be admitted or stored. */
  readonly died: Promise<Error>
  /** Closes everything in reverse order, the database last. The log stays open. */
  close(): Promise<void>
}

export interface ServerFacts extends StatusSources {
  readonly version: string
}

/** The opener of the app closes its log last. */
export type AppLog = Omit<Log, 'request'>

/** The listening servers, and what the shutdown needs of them. */
export interface Serving extends Drainable {
  readonly consoleRequests: number
  readonly listen: Edge['listen']
  /** The metrics server has a port of its own. */
  readonly listenMetrics: Edge['listen']
  /** In Prometheus text format. */
  renderMetrics(): Promise<string>
  /** New connections get this certificate; open ones keep theirs. Only of a server with TLS. */
  useCertificate(pair: TlsPair): void
  /**
   * After a reload: closes the connections to providers that no rule names any more, while running calls finish, and forgets the
   * metrics of removed models and lanes.
   */
  onSwapped(): Promise<void>
}

/** What all other services are built on. */
export interface Core {
  readonly config: Config
  readonly pricesAsOf: PricesAsOf
  readonly managed: Managed
  /** Ledger time. */
  readonly clock: SteadyClock
  readonly random: RandomBytes
  readonly overrides: Overrides
  readonly log: Log
  readonly metrics: Metrics
  readonly database: Database | PostgresDatabase
  readonly purpose: AppOptions['purpose']
  readonly worker: AppOptions['worker']
  readonly db: LedgerDb
  readonly keyring: DatabaseKeyring
  readonly ringSeals: DatabaseSeals
  /** How far the ledger has durably got. content.db stores it. */
  readonly progress: { mark: LedgerMark }
  /** The thread of a database has ended: this process cannot go on. */
  readonly onDeath: (death: Error) => void
}

/** content.db as it was found. */
export interface ContentFound {
  /** It did not exist, or was quarantined. */
  readonly isNew: boolean
  readonly quarantine: Quarantined | undefined
}

/** content.db, and what is stored in it. */
export interface Contents {
  readonly content: SqlStore
  readonly answers: KeptAnswers
  readonly responses: StoredResponses
  /** With PostgreSQL. */
  readonly conversations: Conversations
  readonly callSeals: StoredCallSeals | undefined
  readonly refusedTurns: RefusedTurnCounter
  readonly contentFound: ContentFound
}

/** Notices: what finds them, and what sends them. */
export interface Notices {
  readonly watch: NoticeWatch
  readonly admin: NoticeAdmin
  readonly invitationMail: InvitationMail
  readonly delivery: DeliveryServices
  /** Called when something is queued. A server that sends replaces it. */
  onQueued: () => void
}

/** All services, each built once by `create-app.ts`. */
export interface Services extends Core, Contents {
  readonly ledger: Ledger
  /** Undefined for a command on PostgreSQL. */
  readonly journal: Pick<SettleJournal, 'found'> | undefined
  readonly usage: UsageKeeper
  readonly served: ServedCounter
  readonly rules: RuleBook
  readonly people: SignInServices
  readonly notices: Notices
  readonly seals: Seals
  readonly health: LaneHealth
  readonly countedInputs: CountedInputs
  readonly estimateErrors: EstimateErrors
  readonly callers: Callers
}
