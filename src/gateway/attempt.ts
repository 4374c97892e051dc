import type { Lane } from '../catalog/catalog.ts'
import { msBetween } from '../lib/clock.ts'
import type { Attempt } from '../model/ending.ts'
import type { Hiding } from '../pricing/lane-rates.ts'
import type { MintIds } from '../protocols/shared/event-reader.ts'
import type { Send } from '../providers/send.ts'
import type { LanePermit, LaneVerdict } from '../routing/lane-health.ts'
import { capOn, type LearnedCapabilities } from '../routing/learned-capabilities.ts'
import type { RunFate, TryOutcome } from './attempt-outcome.ts'
import type { RunningTurn } from './running-turn.ts'

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
