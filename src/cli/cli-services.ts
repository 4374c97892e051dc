import type { OperationArgs, OperationName, OperationValue } from '../admin/operations.ts'
import type { LaneTest, UpstreamView } from '../admin/test-lanes.ts'

/** Data goes to `out`, everything else to `err`. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Whether each stream supports colours: a TTY, unless NO_COLOR, TERM=dumb or FORCE_COLOR override it. */
  readonly colours: { readonly out: boolean; readonly err: boolean }
  /** A person can answer questions. */
  readonly interactive: boolean
  /** A person reads both streams, so a secret may be printed without being requested. */
  readonly attended: boolean
  /** Undefined if the input was closed. */
  ask(question: string): Promise<string | undefined>
}

/** The configuration and data folder of a command; undefined uses the defaults. */
export interface Place {
  readonly config: string | undefined
  readonly data: string | undefined
}

export type OperatorAnswer<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  /** The operation was refused: an unknown account, a used reference. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The operation did not run: invalid configuration, locked data folder, no answer from the server. */
  | { readonly kind: 'unreachable'; readonly exit: ExitCode; readonly message: string }

/** Runs an operation in the running server, or in this process with the data folder locked. */
export interface Operator {
  call<Name extends OperationName>(
    place: Place,
    name: Name,
    args: OperationArgs<Name>,
    /** How long the running server may take to answer. */
    timeoutMs?: number,
  ): Promise<OperatorAnswer<OperationValue<Name>>>
  /** The same in each process of a server with several workers. */
  callEach<Name extends OperationName>(
    place: Place,
    name: Name,
    argsOf: (worker: number) => OperationArgs<Name>,
  ): Promise<OperatorAnswer<OfWorker<OperationValue<Name>>[]>>
}

export interface OfWorker<Value> {
  readonly worker: number
  readonly value: Value
}

export interface ServeOptions extends Place {
  /** `false` turns the console off. */
  readonly console?: string | undefined
  readonly host: string | undefined
  readonly port: number | undefined
  readonly metricsPort: number | undefined
  readonly logLevel: string | undefined
  readonly logFormat: string | undefined
  /** A start that fails says why as an object on standard output. */
  readonly json?: boolean
}

export interface Versions {
  readonly millrace: string
  readonly node: string
  readonly driver: string
  readonly schema: string
}

export interface InitMode {
  readonly overwrite: boolean
  /** The configuration of a LiteLLM proxy, to be converted. */
  readonly litellm?: string | undefined
}

/** `notes`: what could not be converted. */
export type InitOutcome =
  | { readonly kind: 'written'; readonly path: string; readonly notes: readonly string[] }
  | { readonly kind: 'exists'; readonly path: string }

/** Needs only the configuration and the network, with or without a running server. */
export interface Upstreams {
  list(place: Place): Promise<FromConfig<readonly UpstreamView[]>>
  /** Calls `onBegin` before the first request, and `onTested` as each lane finishes. */
  test(place: Place, request: LaneTestRequest): Promise<FromConfig<readonly LaneTest[]>>
}

export interface LaneTestRequest {
  /** Ids of upstreams, models or lanes; empty for all. */
  readonly names: readonly string[]
  onBegin(lanes: number, used: ConfigUsed): void
  onTested(test: LaneTest): void
}

export interface ConfigUsed {
  /** Null for the defaults. */
  readonly path: string | null
  /** The server that was started with it; null if none runs on the data folder, or `--config` names a file. */
  readonly serverPid: number | null
}

export type FromConfig<Value> =
  | { readonly kind: 'done'; readonly value: Value; readonly used: ConfigUsed }
  /** The configuration is invalid, or lacks a name. */
  | { readonly kind: 'invalid'; readonly message: string }

export interface MoveRequest {
  /** A folder or `postgres://…`. */
  readonly to: string
  /** What begins now, for those who wait. */
  onStep(step: string): void
}

export interface MoveReport {
  /** Whether all tables are equal and the ledger in the new place balances. Only then it can be used. */
  readonly ok: boolean
  readonly from: 'sqlite' | 'postgres'
  readonly to: 'sqlite' | 'postgres'
  readonly tables: readonly { readonly table: string; readonly rows: number; readonly equal: boolean }[]
  /** The proof of the ledger in the new place. */
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
  /** What the operator does next. */
  readonly next: readonly string[]
}

export type MoveOutcome =
  | { readonly kind: 'done'; readonly report: MoveReport }
  | { readonly kind: 'refused'; readonly exit: ExitCode; readonly message: string }

export type AccountsFileOutcome =
  | {
      readonly kind: 'read'
      readonly accounts: OperationArgs<'accounts.apply'>['accounts']
      /** Where the value at a path stands: `accounts.yaml:12:5`. */
      placeOf(path: readonly (string | number)[]): string
    }
  | { readonly kind: 'invalid'; readonly lines: readonly string[] }

export type FragmentOutcome =
  | { readonly kind: 'read'; readonly value: unknown }
  | { readonly kind: 'invalid'; readonly lines: readonly string[] }

export type SecretsFileOutcome =
  | { readonly kind: 'open'; write(text: string): void; close(): void }
  | { readonly kind: 'refused'; readonly message: string }

/** The files of `apply`, `accounts import` and `accounts export`. */
export interface AccountsFiles {
  /** By its ending: YAML, JSON lines or CSV. */
  read(path: string): AccountsFileOutcome
  /** Opens a file that only its owner can read, and writes at its end. */
  openSecrets(path: string): SecretsFileOutcome
}

export type PinOutcome =
  | {
      readonly kind: 'pinned'
      readonly path: string
      readonly models: number
      /** How the new pins differ from the former ones. */
      readonly changes: readonly string[]
    }
  /** The configuration imports nothing. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'invalid'; readonly lines: readonly string[] }

/** What `doctor` found. Faults that break the server come first. */
export interface DoctorReport {
  /** Nothing is broken; there may be warnings. */
  readonly ok: boolean
  readonly findings: readonly {
    /** An id of docs/operate/doctor.md. */
    readonly fault: string
    readonly area: string
    readonly severity: 'broken' | 'warning'
    readonly message: string
    readonly why: string
    readonly cure: string
  }[]
  readonly examined: readonly { readonly area: string; readonly at: string }[]
  /** What was not examined, and why. */
  readonly skipped: readonly string[]
}

export interface BackupRequest {
  readonly to: string
  /** False: keyring.json is kept apart. */
  readonly withKeyring: boolean
  onStep(step: string): void
}

export interface BackupCounts {
  readonly accounts: number
  readonly receipts: number
  readonly transfers: number
  readonly audit_entries: number
  readonly open_requests: number
  readonly ends_in_journal: number
}

export interface BackupReport {
  readonly folder: string
  readonly id: string
  /** The moment that the backup is of. */
  readonly taken_at: string
  readonly version: string
  /** Where the key ring is: in the backup, in the environment of the server, or kept apart. */
  readonly key_ring: 'file' | 'environment' | 'apart'
  readonly bytes: number
  readonly counts: BackupCounts
  readonly audit_head: string
}

export type BackupOutcome =
  | { readonly kind: 'done'; readonly report: BackupReport }
  | { readonly kind: 'refused'; readonly exit: ExitCode; readonly message: string }

export interface RestoreRequest {
  readonly from: string
  onStep(step: string): void
}

export interface RestoreReport {
  readonly data: string
  readonly id: string
  readonly taken_at: string
  readonly counts: BackupCounts
  readonly warnings: readonly string[]
  readonly next: readonly string[]
}

export type RestoreOutcome =
  | { readonly kind: 'done'; readonly report: RestoreReport }
  | { readonly kind: 'refused'; readonly exit: ExitCode; readonly message: string }

/** The services of the command line, built by `app`. */
export interface CliServices {
  readonly terminal: Terminal
  /** The command that starts this program: `millrace`, or `node dist/app/main.js`. */
  readonly program: string
  readonly operator: Operator
  /** Between two looks of a command that follows. */
  readonly pause: (ms: number) => Promise<void>
  /** Whether the process with this id runs. */
  readonly isAlive: (pid: number) => boolean
  readonly serve: (options: ServeOptions) => Promise<ExitCode>
  readonly checkConfig: (place: Place) => Promise<{
    readonly ok: boolean
    readonly warned: boolean
    readonly lines: readonly string[]
    readonly json: unknown
  }>
  readonly pinImports: (place: Place) => Promise<PinOutcome>
  readonly doctor: (place: Place, options: { readonly online: boolean }) => Promise<DoctorReport>
  readonly upstreams: Upstreams
  readonly accountsFiles: AccountsFiles
  /** Reads a part of a configuration. `${…}` are those of this command's environment. */
  readonly readFragment: (path: string) => FragmentOutcome
  readonly backUpLedger: (place: Place, request: BackupRequest) => Promise<BackupOutcome>
  readonly restoreLedger: (place: Place, request: RestoreRequest) => Promise<RestoreOutcome>
  readonly moveLedger: (place: Place, request: MoveRequest) => Promise<MoveOutcome>
  /** Writes the commented template, or what a file of another gateway becomes. An existing file is kept unless `overwrite`. */
  readonly writeTemplate: (path: string, mode: InitMode) => Promise<InitOutcome>
  /** What the key in this command's environment has left. */
  readonly readKeyStanding: (url: string | undefined) => Promise<KeyStandingOutcome>
  readonly versions: Versions
}

/** What `GET /v1/key` says of a key, as far as a status line shows it. */
export interface KeyStanding {
  readonly wallet: { readonly available: string } | null
  readonly caps: readonly Limited[]
  readonly windows: readonly Limited[]
}

interface Limited {
  readonly name: string
  readonly limit: string
  readonly left: string
  /** Of a cap. */
  readonly holder?: string
}

export type KeyStandingOutcome =
  | { readonly kind: 'read'; readonly standing: KeyStanding }
  | { readonly kind: 'failed'; readonly exit: ExitCode; readonly message: string }

/** Stable for scripts; `docs/operate/running.md` has the same table. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  missingPart: 3,
  /** Only of `status`. Service managers use 3 for a stopped service. */
  notRunning: 3,
  cannotBind: 4,
  remoteFailed: 5,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
