import type { CountedInputs } from '../../account/models/counted-inputs.ts'
import type { PeopleDeps } from '../../account/people/people-deps.ts'
import type { RefusedTurnCounter } from '../../account/usage/count-refused-turns.ts'
import type { UsageKeeper } from '../../account/usage/usage-keeper.ts'
import type { KeptAnswers } from '../../content/kept-answers.ts'
import type { StoredResponses } from '../../content/stored-responses.ts'
import type { CallerFinder } from '../../keys/find-caller.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { SteadyClock } from '../../lib/steady-clock.ts'
import type { EstimateErrors } from '../../metering/estimate-errors.ts'
import type { Seals } from '../../model/seals.ts'
import type { LaneHealth } from '../../routing/lane-health.ts'
import type { SqliteFile } from '../../sqlite/sqlite-file.ts'
import type { LedgerMark } from '../../store/ledger-identity.ts'
import type { Database } from '../../store/open-database.ts'
import type { LedgerDb } from '../../store/tables.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Config } from '../config/config.ts'
import type { DatabaseRing } from '../ring/check-ring.ts'
import type { RuleBook } from '../rules/rules.ts'
import type { HouseMeans } from './house-means.ts'
import type { ContentFound } from './open-content-of-ledger.ts'

/** What everything else is built on. */
export interface Foundation {
  readonly config: Config
  /** Ledger time. */
  readonly clock: SteadyClock
  readonly random: RandomBytes
  readonly means: HouseMeans
  readonly log: Log
  readonly metrics: Metrics
  readonly database: Database
  /** Of the database: what nearly everybody asks. */
  readonly db: LedgerDb
  readonly ring: DatabaseRing
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
export interface OpenedBooks {
  readonly ledger: Ledger
  readonly usage: UsageKeeper
}

/** All that exists, each thing once: `compose.ts` is the list in which they are made. */
export interface Parts extends Foundation, Contents, OpenedBooks {
  readonly rules: RuleBook
  readonly people: PeopleDeps
  readonly seals: Seals
  readonly health: LaneHealth
  readonly countedInputs: CountedInputs
  readonly estimateErrors: EstimateErrors
  readonly finder: CallerFinder
}
