import type { OperationArgs, OperationName, OperationValue } from '../admin/operations.ts'
import type { LaneTest, UpstreamView } from '../admin/test-lanes.ts'

/** Where a command speaks and listens. Data goes to `out`, everything said to a person beside it to `err`. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** Whether colours may be used on each stream: a TTY, unless NO_COLOR, TERM=dumb or FORCE_COLOR say otherwise. */
  readonly colours: { readonly out: boolean; readonly err: boolean }
  /** A person sits at the input and reads the questions: only then may one be asked. */
  readonly interactive: boolean
  /** A person reads both outputs as they come: only then may a secret be printed unasked. */
  readonly attended: boolean
  /** Undefined when the person closed the input instead of answering. */
  ask(question: string): Promise<string | undefined>
}

/** Which configuration and data folder a command means; undefined leaves it to the usual order. */
export interface Place {
  readonly config: string | undefined
  readonly data: string | undefined
}

export type OperatorAnswer<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  /** Understood and not done: an unknown account, a reference that is taken. */
  | { readonly kind: 'refused'; readonly message: string }
  /** Nobody could be asked: bad configuration, somebody else has the data folder, the server did not answer. */
  | { readonly kind: 'unreachable'; readonly exit: ExitCode; readonly message: string }

/** Carries an operation out wherever the books are open: in the running server, or here with the data folder locked. */
export interface Operator {
  call<Name extends OperationName>(
    place: Place,
    name: Name,
    args: OperationArgs<Name>,
  ): Promise<OperatorAnswer<OperationValue<Name>>>
}

export interface ServeOptions extends Place {
  /** `false` where it is switched off. */
  readonly console?: string | undefined
  readonly host: string | undefined
  readonly port: number | undefined
  readonly metricsPort: number | undefined
  readonly logLevel: string | undefined
  readonly logFormat: string | undefined
}

/** What `check` has to say about a configuration, to people and to programs. */
interface CheckReport {
  readonly ok: boolean
  readonly lines: readonly string[]
  readonly json: unknown
}

export interface Versions {
  readonly millrace: string
  readonly node: string
  readonly driver: string
  readonly schema: string
}

export type InitOutcome =
  | { readonly kind: 'written'; readonly path: string }
  | { readonly kind: 'exists'; readonly path: string }

/** What is asked of the providers themselves: the configuration and the network are all it needs, beside a server or without. */
export interface Upstreams {
  list(place: Place): Promise<FromConfig<readonly UpstreamView[]>>
  /** Nothing is asked before `onBegin`; `onTested` hears of each lane as it comes. */
  test(place: Place, wish: LaneTestRequest): Promise<FromConfig<readonly LaneTest[]>>
}

export interface LaneTestRequest {
  /** Ids of upstreams, models or lanes; none for all. */
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
  /** The configuration is wrong, or does not have what was named. */
  | { readonly kind: 'invalid'; readonly message: string }

/** All that the command line needs of the program around it; `app` hands it in. */
export interface CliDeps {
  readonly terminal: Terminal
  /** The command that starts this program in the user's shell: `millrace`, or `node dist/app/main.js`. */
  readonly program: string
  readonly operator: Operator
  readonly serve: (options: ServeOptions) => Promise<ExitCode>
  readonly checkConfig: (place: Place) => CheckReport
  readonly upstreams: Upstreams
  /** Writes the commented template. An existing file is left alone unless `overwrite`. */
  readonly writeTemplate: (path: string, mode: { overwrite: boolean }) => Promise<InitOutcome>
  readonly versions: Versions
}

/** What scripts may rely on; `docs/operate/running.md` lists the same table. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  missingPart: 3,
  /** Only of `status`, which needs no optional part. Service managers use 3 for a stopped service. */
  notRunning: 3,
  cannotBind: 4,
  remoteFailed: 5,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]
