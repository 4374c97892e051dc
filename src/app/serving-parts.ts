import type { PeopleDeps } from '../account/people/people-deps.ts'
import type { RefusedTurnCounter } from '../account/usage/count-refused-turns.ts'
import type { UsageKeeper } from '../account/usage/usage-keeper.ts'
import type { KeptAnswers } from '../content/kept-answers.ts'
import type { StoredResponses } from '../content/stored-responses.ts'
import type { CallerFinder } from '../keys/find-caller.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import type { Seals } from '../model/seals.ts'
import type { LaneHealth } from '../routing/lane-health.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'
import type { LedgerDb } from '../store/tables.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { DatabaseRing } from './check-ring.ts'
import type { Config } from './config/config.ts'
import type { HouseMeans } from './house-means.ts'
import type { RuleBook } from './rules.ts'

/** What has been built when serving begins. */
export interface ServingParts {
  readonly config: Config
  readonly clock: Clock
  readonly random: RandomBytes
  readonly means: HouseMeans
  readonly db: LedgerDb
  readonly ledger: Ledger
  /** The file of contents, and what keeps the usage in it. */
  readonly content: SqliteFile
  readonly usage: UsageKeeper
  readonly refusedTurns: RefusedTurnCounter
  readonly answers: KeptAnswers
  readonly responses: StoredResponses
  readonly ring: DatabaseRing
  readonly seals: Seals
  readonly rules: RuleBook
  readonly health: LaneHealth
  readonly finder: CallerFinder
  readonly people: PeopleDeps
  readonly log: Log
  readonly metrics: Metrics
}
