import type { Lane } from '../catalog/catalog.ts'
import { msBetween } from '../lib/clock.ts'
import type { Attempt, SettledCharge } from '../model/ending.ts'
import type { Problem } from '../model/problem.ts'
import type { InputUsage, Usage } from '../model/usage.ts'
import type { Hiding, SeenWork } from '../pricing/lane-rates.ts'
import type { RefusalClass } from '../protocols/refusals/classify-refusal.ts'
import type { CompactedSize } from '../protocols/shared/client-encoder.ts'
import type { MintIds } from '../protocols/shared/event-reader.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import type { Send } from '../providers/send.ts'
import type { UpstreamFailure } from '../providers/upstream-answer.ts'
import type { LanePermit, LaneVerdict } from '../routing/lane-health.ts'
import { capOn, type LearnedCapabilities } from '../routing/learned-capabilities.ts'
import type { StopReason } from './cancellation.ts'
import type { RunningTurn } from './turn.ts'

export interface LaneServices {
  readonly send: Send
  readonly capabilities: LearnedCapabilities
  readonly mint: MintIds
  readonly nowMicros: () => number
  readonly now: () => number
  readonly bounds: ProviderBounds
}

/** Bounds on what a provider may send us. */
interface ProviderBounds {
  readonly frameBytesMax: number
  readonly bodyBytesMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

export interface AttemptResult {
  readonly fate: RunFate
  readonly status: number | undefined
  /** For the receipt: how this ended, in a word. */
  readonly outcome: TryOutcome
}

/** A pause between words that is longer than this is no matter of the network: the provider may have been reasoning. */
const PAUSE_MICROS = 1_500_000

const WELL: LaneVerdict = { kind: 'well' }
/** A provider's head comes within a second or two: who left after so long without one has waited for nothing. */
const SILENT_MICROS = 10_000_000

interface TryDeps {
  readonly nowMicros: () => number
  /** The first content goes to the client. */
  readonly onContent: () => void
}

/** One lane while it is tried. What the turn finds out about it is told as soon as it is known: others wait for it. */
export class LaneAttempt {
  readonly lane: Lane
  /** One for each time that it was asked. */
  readonly attempts: Attempt[] = []
  readonly #permit: LanePermit
  readonly #deps: TryDeps
  #askedAt: number
  /** When it was asked, or the last words came. */
  #heardAt: number
  #hasWords = false
  #silentMicros = 0
  /** Whether it may reason unseen, as it was asked last. */
  hiding: Hiding = 'no'
  /** Monotonic microseconds of the first content, if there was any. */
  firstContentAt: number | undefined

  constructor(lane: Lane, permit: LanePermit, deps: TryDeps) {
    this.lane = lane
    this.#permit = permit
    this.#deps = deps
    this.#askedAt = deps.nowMicros()
    this.#heardAt = this.#askedAt
  }

  /** From here on there is no other lane. */
  get hasContent(): boolean {
    return this.firstContentAt !== undefined
  }

  /** Its head has come, with whatever status. */
  headCame(): void {
    this.#permit.report({ kind: 'heard' })
  }

  /** Its client has gone, and nothing had come of it. */
  leftWithoutHead(): void {
    if (this.#deps.nowMicros() - this.#askedAt >= SILENT_MICROS) this.#permit.report({ kind: 'silent' })
  }

  /** Words have come, or more of them. */
  wordsCame(): void {
    const now = this.#deps.nowMicros()
    this.#silentMicros += this.#silence(now)
    this.#hasWords = true
    this.#heardAt = now
  }

  /** It was not read for a while, because its client did not read either. */
  readsOn(): void {
    this.#heardAt = this.#deps.nowMicros()
  }

  /** For how long nothing came of its answer. What comes after the reason to finish is no work any more. */
  silentMs(isFinished: boolean): number {
    const micros = this.#silentMicros + (isFinished ? 0 : this.#silence(this.#deps.nowMicros()))
    return Math.round(micros / 1000)
  }

  /** How long ago it was asked. */
  askedMs(): number {
    return msBetween(this.#askedAt, this.#deps.nowMicros())
  }

  #silence(now: number): number {
    const micros = now - this.#heardAt
    return !this.#hasWords || micros > PAUSE_MICROS ? micros : 0
  }

  contentBegins(): void {
    this.firstContentAt = this.#deps.nowMicros()
    this.#permit.report(WELL)
    this.#deps.onContent()
  }

  /** What came of asking it; it may be asked again, in another manner. */
  answered({ status, outcome }: AttemptResult): void {
    const now = this.#deps.nowMicros()
    this.attempts.push({ lane: this.lane.id, outcome, status, ms: msBetween(this.#askedAt, now) })
    this.#askedAt = now
    this.#heardAt = now
    this.#silentMicros = 0
  }

  /** What came of trying it. Who stops a turn from outside has nothing against its lane. */
  ended(fate: RunFate): void {
    if (fate.kind === 'finished') this.firstContentAt ??= this.#deps.nowMicros()
    const verdict = verdictOf(fate)
    if (verdict) this.#permit.report(verdict)
  }

  /** In any case, when it is tried no more. */
  release(): void {
    this.#permit.release()
  }
}

function verdictOf(fate: RunFate): LaneVerdict | undefined {
  if (fate.kind === 'failed') return fate.verdict
  if (fate.kind === 'finished') return WELL
  return fate.kind === 'broken-off' ? { kind: 'failed' } : undefined
}

interface CappedTurn {
  readonly request: Pick<RunningTurn['request'], 'outputCap'>
  readonly hold: Pick<RunningTurn['hold'], 'cap'>
}

/** What one lane may write. More may be held, for another lane of the turn that takes no cap as low as the client's. */
export const laneCap = ({ request: { outputCap }, hold }: CappedTurn, lane: Lane): number =>
  outputCap === undefined ? hold.cap : Math.min(capOn(lane, outputCap), hold.cap)

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
