import type { Lane } from '../catalog/catalog.ts'
import { msBetween } from '../lib/clock.ts'
import type { Attempt, SettledCharge } from '../model/ending.ts'
import type { InputUsage, Usage } from '../model/price.ts'
import type { Problem } from '../model/problem.ts'
import type { Hiding, SeenWork } from '../pricing/lane-rates.ts'
import type { RefusalClass } from '../protocols/refusals/provider-error.ts'
import type { CompactedSize } from '../protocols/shared/codec-types.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { UpstreamFailure } from '../providers/upstream-answer.ts'
import type { LanePermit, LaneVerdict } from '../routing/lane-health.ts'
import { capOn } from '../routing/learned-capabilities.ts'
import type { StopReason } from './cancellation.ts'
import { releaseBody } from './request-memory.ts'
import type { Turn, TurnServices } from './turn.ts'

/** The result of a turn's calls to providers. */
export interface Run {
  readonly fate: RunFate
  /** The lane that answered, or the last that was called. */
  readonly lane: Lane | undefined
  readonly attempts: readonly Attempt[]
  /** Monotonic microseconds of the first content, if there was any. */
  readonly firstContentAt: number | undefined
}

/** How one call of a lane ended, in the word that its receipt has for it. */
export type AttemptOutcome = RunFate['kind'] | StopReason | DeadlinePhase | UpstreamFailure | RefusalClass

export type RunFate =
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
  | { readonly kind: 'stopped'; readonly reason: StopReason; readonly accepted: boolean; readonly used: Produced }
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
  readonly malformedOutput?: boolean
}

/** What a provider has produced: its own count, or what was seen of the answer. */
export interface Produced extends SeenWork {
  readonly usage: Usage | undefined
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

export interface AttemptResult {
  readonly fate: RunFate
  readonly status: number | undefined
  readonly outcome: AttemptOutcome
}

/** The network does not explain a longer pause: the provider may have been reasoning. */
const PAUSE_MICROS = 1_500_000
/** Provider heads arrive within a second or two: a client that waits this long and leaves has seen an unresponsive lane. */
const UNRESPONSIVE_MICROS = 10_000_000

const SUCCEEDED: LaneVerdict = { kind: 'succeeded' }
const RESPONDED: LaneVerdict = { kind: 'responded' }

/** The use of one lane by one turn: one call, or several with different options. Results are reported as soon as they are known. */
export class LaneAttempt {
  readonly lane: Lane
  /** Monotonic microseconds of the first content; from then on there is no failover. */
  firstContentAt: number | undefined
  /** Whether the lane may hide reasoning, as it was last called. */
  hiding: Hiding = 'no'
  readonly #services: TurnServices
  readonly #turn: Turn
  readonly #permit: LanePermit
  #calledAt: number
  /** When the lane was called, or its last output arrived. */
  #progressAt: number
  #hasOutput = false
  #silentMicros = 0

  constructor(services: TurnServices, turn: Turn, lane: Lane, permit: LanePermit) {
    this.#services = services
    this.#turn = turn
    this.lane = lane
    this.#permit = permit
    this.#calledAt = services.nowMicros()
    this.#progressAt = this.#calledAt
  }

  /** The response head arrived, with any status. */
  onHead(): void {
    this.#permit.report(RESPONDED)
  }

  /** The client disconnected before the head arrived. */
  onDisconnectBeforeHead(): void {
    if (this.#services.nowMicros() - this.#calledAt >= UNRESPONSIVE_MICROS)
      this.#permit.report({ kind: 'unresponsive' })
  }

  onOutput(): void {
    const now = this.#services.nowMicros()
    this.#silentMicros += this.#silence(now)
    this.#hasOutput = true
    this.#progressAt = now
  }

  /** The provider was not read for a while, because of backpressure from the client. */
  onReadResumed(): void {
    this.#progressAt = this.#services.nowMicros()
  }

  onFirstContent(): void {
    const { nowMicros, sticky } = this.#services
    this.firstContentAt = nowMicros()
    this.#permit.report(SUCCEEDED)
    // The next turn of the conversation may begin before this one ends.
    sticky.remember(this.#turn.keys, { origin: this.lane.origin, cameFrom: this.#turn.cameFrom })
    releaseBody(this.#services, this.#turn)
  }

  /** For how long the provider produced nothing. After the finish reason it does not work any more. */
  silentMs(isFinished: boolean): number {
    const micros = this.#silentMicros + (isFinished ? 0 : this.#silence(this.#services.nowMicros()))
    return Math.round(micros / 1000)
  }

  #silence(now: number): number {
    const micros = now - this.#progressAt
    return !this.#hasOutput || micros > PAUSE_MICROS ? micros : 0
  }

  msSinceCall(): number {
    return msBetween(this.#calledAt, this.#services.nowMicros())
  }

  /** Records a call; the lane may be called again with other options. */
  endCall({ status, outcome }: AttemptResult): Attempt {
    const now = this.#services.nowMicros()
    const attempt = { lane: this.lane.id, outcome, status, ms: msBetween(this.#calledAt, now) }
    this.#calledAt = now
    this.#progressAt = now
    this.#silentMicros = 0
    return attempt
  }

  /** A turn that is stopped from outside says nothing about its lane. */
  report(fate: RunFate): void {
    if (fate.kind === 'finished') {
      this.firstContentAt ??= this.#services.nowMicros()
      this.#permit.report(SUCCEEDED)
    } else if (fate.kind === 'broken-off') {
      this.#permit.report({ kind: 'failed' })
    } else if (fate.kind === 'failed' && fate.verdict !== undefined) {
      this.#permit.report(fate.verdict)
    }
  }
}

interface CappedTurn {
  readonly request: Pick<Turn['request'], 'outputCap'>
  readonly hold: Pick<Turn['hold'], 'cap'>
}

/** The output cap of one lane. The hold may cover more, for a lane of the turn whose minimum is above the client's cap. */
export const laneCap = ({ request: { outputCap }, hold }: CappedTurn, lane: Lane): number =>
  outputCap === undefined ? hold.cap : Math.min(capOn(lane, outputCap), hold.cap)
