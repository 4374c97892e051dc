import type { OperationDeps } from '../../account/operations.ts'
import type { ServerStatus } from '../../account/server-status.ts'
import type { Edge } from '../../http/server.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { LoadedConfig } from '../config/load-config.ts'
import type { RuleBook } from '../rules/rules.ts'
import type { Drainable } from '../serve/shutdown.ts'
import type { HouseMeans } from './house-means.ts'

/** What a house is built on: handed in, so that a test decides it. The data folder is there. */
export interface HouseGround {
  readonly settings: LoadedConfig
  readonly clock: Clock
  readonly random: RandomBytes
  /** A server logs to stdout as configured; a single command of the operator keeps silent. */
  readonly purpose: 'server' | 'command'
  /** Left out, all are `OUR_MEANS`. */
  readonly means?: Partial<HouseMeans>
}

/** `compose.ts` implements this: everything is built once, in the order in which things need each other. */
export type OpenHouse = (ground: HouseGround) => Promise<HouseOutcome>

export type HouseOutcome =
  | { readonly kind: 'open'; readonly house: House }
  /** Another process has the database file. */
  | { readonly kind: 'locked' }
  /** Sealed by another key ring, tables of somebody else, a newer schema: a sentence that says what to do. */
  | { readonly kind: 'refused'; readonly message: string }

/**
 * Key ring, database, migrations, books (recovered) and catalogue: what a command of the operator needs, and what a
 * server starts from. Nothing listens yet.
 */
export interface House {
  /** All that the operator's use cases need, but for the status, which only a server has. */
  readonly operations: Omit<OperationDeps, 'status'>
  /** False while a failed batch is being read back. */
  readonly ledgerAvailable: () => boolean
  /** e.g. `libsql 3.45.1`. */
  readonly driver: string
  readonly log: HouseLog
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
export interface HouseLog {
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
