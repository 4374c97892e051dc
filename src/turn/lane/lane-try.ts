import type { Lane } from '../../catalog/catalog.ts'
import { msBetween } from '../../lib/clock.ts'
import type { Attempt } from '../../model/ending.ts'
import type { LaneVerdict, LaneVisit } from '../../routing/lane-health.ts'
import type { LaneLessons } from '../../routing/lane-lessons.ts'
import type { Send } from '../../upstream/send.ts'
import type { MintIds } from '../../wire/mint-ids.ts'
import type { RunFate, TryOutcome } from './run.ts'

export interface LaneDeps {
  readonly send: Send
  readonly lessons: LaneLessons
  readonly mint: MintIds
  readonly ticks: () => number
  readonly now: () => number
  readonly bounds: ProviderBounds
}

/** Bounds on what a provider may send us. */
export interface ProviderBounds {
  readonly frameBytesMax: number
  readonly bodyBytesMax: number
  readonly depthMax: number
  readonly valuesMax: number
}

export interface TriedLane {
  readonly fate: RunFate
  readonly status: number | undefined
  /** For the receipt: how this try ended, in a word. */
  readonly outcome: TryOutcome
}

export const WELL: LaneVerdict = { kind: 'well' }

/** One lane while it is tried. What the turn finds out about it is told as soon as it is known: others wait for it. */
export class LaneTry {
  readonly lane: Lane
  readonly #visit: LaneVisit
  readonly #ticks: () => number
  readonly #startedAt: number
  /** Monotonic microseconds of the first content, if there was any. */
  firstContentAt: number | undefined

  constructor(lane: Lane, visit: LaneVisit, ticks: () => number) {
    this.lane = lane
    this.#visit = visit
    this.#ticks = ticks
    this.#startedAt = ticks()
  }

  /** The first content goes to the client: from here on there is no other lane. */
  contentBegins(): void {
    this.firstContentAt = this.#ticks()
    this.#visit.tell(WELL)
  }

  ended({ fate, status, outcome }: TriedLane): Attempt {
    if (fate.kind === 'finished') this.firstContentAt ??= this.#ticks()
    return { lane: this.lane.id, outcome, status, ms: msBetween(this.#startedAt, this.#ticks()) }
  }
}
