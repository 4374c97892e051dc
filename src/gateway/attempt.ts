import type { Lane } from '../catalog/catalog.ts'
import type { Attempt, SettledCharge } from '../model/ending.ts'
import type { InputUsage, PricedValues, Usage } from '../model/price.ts'
import type { Problem } from '../model/problem.ts'
import type { HiddenReasoning, SeenWork } from '../pricing/lane-estimators.ts'
import type { RefusalClass } from '../protocols/refusals/provider-error.ts'
import type { CompactedSize } from '../protocols/shared/codec-types.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { UpstreamFailure } from '../providers/upstream-answer.ts'
import type { LanePermit, LaneVerdict } from '../routing/circuit-breaker.ts'
import type { CallTrace } from '../telemetry/tracing.ts'
import type { AbortReason } from './cancellation.ts'

/** The result of a turn's calls to providers. */
export interface ProviderRun {
  readonly result: AttemptResult
  /** The lane that answered, or the last that was called. */
  readonly lane: Lane | undefined
  readonly attempts: readonly Attempt[]
  /** Monotonic microseconds of the first content, if there was any. */
  readonly firstContentAt: number | undefined
  /** From the last call of the lane to its first content. */
  readonly laneFirstByteMs?: number | undefined
}

/** How one call of a lane ended, in the word that its receipt has for it. */
export type AttemptOutcome =
  | AttemptResult['kind']
  | 'broken-arguments'
  | AbortReason
  | DeadlinePhase
  | UpstreamFailure
  | RefusalClass

export type AttemptResult =
  /** The answer is complete; its last frames are still held back. */
  | {
      readonly kind: 'finished'
      readonly answer: FinishedAnswer
      readonly used: Produced
      /** The client disconnected before the answer was complete. */
      readonly disconnectedEarly: boolean
    }
  /** The provider failed after content had gone out. */
  | { readonly kind: 'broken-off'; readonly problem: Problem; readonly used: Produced }
  | FailedLane
  /** Stopped from outside: the client disconnected, or the server ends its turns. */
  | { readonly kind: 'stopped'; readonly reason: AbortReason; readonly accepted: boolean; readonly used: Produced }
  /** The release gate stayed closed, so nothing was delivered. */
  | { readonly kind: 'withheld'; readonly problem: Problem }

/** A failure before the first content: failover to another lane is possible. */
export interface FailedLane {
  readonly kind: 'failed'
  readonly problem: Problem
  /** Any other lane would refuse the same request. */
  readonly failsOnEveryLane: boolean
  /** The provider has the request and did not refuse it: it may bill the operator for the work. */
  readonly mayBeBilled: boolean
  /** For the circuit breaker; undefined: the failure says nothing about the lane. */
  readonly verdict: LaneVerdict | undefined
  /** The lane does not accept the sealed reasoning that it was given back. */
  readonly refusesSeals?: boolean
  /** The model wrote malformed output, such as an invalid tool call: the same request usually succeeds when sent once more. */
  readonly malformedOutput?: boolean | undefined
  /** The arguments of a tool call are not JSON: a slip of the model as well. */
  readonly brokenArguments?: boolean | undefined
}

/** What a provider has produced: its own count, or what was seen of the answer. */
export interface Produced extends SeenWork {
  /** The provider's words for how its answer ended, while requests are traced. */
  readonly finishReasons?: readonly string[] | undefined
  readonly usage: Usage | undefined
  /** What it says it has served of what changes the price. */
  readonly served?: PricedValues | undefined
  /** Its count of a part of the answer, where the final count is missing: a lower bound. */
  readonly usageSoFar?: Usage | undefined
  /** `outputBytes` when that count arrived. */
  readonly countedBytes?: number
  /** Its count of the input, for a provider that sends that first. */
  readonly inputCounted?: InputUsage | undefined
}

export const NOTHING_PRODUCED: Produced = { usage: undefined, outputBytes: 0 }

/** A complete answer without its last frames. */
interface FinishedAnswer {
  /** The part of a stream that was held back because no content came before it. */
  readonly unsent: Buffer
  /** The size of what replaces a compacted conversation. */
  readonly compacted?: CompactedSize | undefined
  /** The last bytes of a stream, or the JSON body. */
  close(settled: SettledCharge): Buffer
}

/** The use of one lane by one turn: one call, or several with different options. */
export interface LaneAttempt {
  readonly lane: Lane
  readonly permit: LanePermit
  /** The most that the lane may write. */
  readonly outputCap: number
  /** Every call of the turn that has ended. */
  readonly attempts: Attempt[]
  /** Monotonic microseconds at which the lane was called last. */
  calledAt: number
  /** Monotonic microseconds of the first content; from then on there is no failover. */
  firstContentAt: number | undefined
  /** The span of the call that runs. */
  trace: CallTrace | undefined
  /** What a header of the last call's answer says of its service tier: Gemini has it there. */
  tierInHead: string | undefined
  /** Whether the lane may hide reasoning, as it was last called. */
  hiddenReasoning: HiddenReasoning
}
