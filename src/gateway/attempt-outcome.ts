import type { Lane } from '../catalog/catalog.ts'
import type { Attempt, SettledCharge } from '../model/ending.ts'
import type { Problem } from '../model/problem.ts'
import type { InputUsage, Usage } from '../model/usage.ts'
import type { SeenWork } from '../pricing/lane-rates.ts'
import type { RefusalClass } from '../protocols/refusals/classify-refusal.ts'
import type { CompactedSize } from '../protocols/shared/client-encoder.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { UpstreamFailure } from '../providers/upstream-answer.ts'
import type { LaneVerdict } from '../routing/lane-health.ts'
import type { StopReason } from './cancellation.ts'

/** How the provider's side of a turn went: every fate there is, with what is known of the usage. */
export interface Run {
  readonly fate: RunFate
  /** The lane that answered, or the last that was tried. */
  readonly lane: Lane | undefined
  readonly attempts: readonly Attempt[]
  /** Monotonic microseconds of the first content, if there was any. */
  readonly firstContentAt: number | undefined
}

/** How one asking of a lane has ended, in the word that receipts have for it. */
export type TryOutcome = RunFate['kind'] | StopReason | DeadlinePhase | UpstreamFailure | RefusalClass

export type RunFate =
  /** The whole answer is there; what says that it is the end is still held back. */
  | {
      readonly kind: 'finished'
      readonly answer: FinishedAnswer
      readonly used: Produced
      /** The client had gone before there was all of it. */
      readonly unheard: boolean
    }
  /** Content has gone out, and there will be no more. */
  | { readonly kind: 'broken-off'; readonly problem: Problem; readonly used: Produced }
  | FailedLane
  /** Stopped from outside: the client has gone, or the server stops. */
  | { readonly kind: 'stopped'; readonly reason: StopReason; readonly accepted: boolean; readonly used: Produced }
  /** What has to be durable before the first word is not, so nothing was delivered. */
  | { readonly kind: 'withheld'; readonly problem: Problem }

/** Nothing has gone out: another lane may be tried, unless it would say the same of the same request. */
export interface FailedLane {
  readonly kind: 'failed'
  readonly problem: Problem
  readonly sameElsewhere: boolean
  /** The request had left, and no refusal came: the provider may have done the work, and bill the operator for it. */
  readonly mayBeBilled: boolean
  /** What it says of the lane, for whoever comes next; undefined: nothing. */
  readonly verdict: LaneVerdict | undefined
  /** It does not take sealed reasoning that it was given back. */
  readonly refusesSeals?: boolean
  /** The model slipped, as with a malformed call: the same request usually succeeds when sent once more. */
  readonly slipped?: boolean
}

/** What a provider has produced, by its own count where it told one, and by what was seen of it where it did not. */
export interface Produced extends SeenWork {
  readonly usage: Usage | undefined
  /** Its count of a part of the answer, where the rest came without one: a lower bound. */
  readonly usageSoFar?: Usage | undefined
  /** `outputBytes` when that was told. */
  readonly countedBytes?: number
  /** Its count of the input, where it tells that first. */
  readonly inputCounted?: InputUsage | undefined
}

export const NOTHING_PRODUCED: Produced = { usage: undefined, outputBytes: 0 }

/** A whole answer, but for what says that it is whole. */
interface FinishedAnswer {
  /** Of a stream: what has not gone out, because no content came before it. */
  readonly unsent: Buffer
  /** Of a conversation that was made short: what stands in its place. */
  readonly compacted?: CompactedSize | undefined
  /** The last bytes of a stream, or the JSON body. */
  close(settled: SettledCharge): Buffer
}
