import type { Model } from '../catalog/catalog.ts'
import { createLruMap } from '../lib/lru-map.ts'
import { createSlidingCount, type SlidingCount } from '../lib/rates.ts'

/**
 * How many turns may be asked elsewhere after a lane has failed: a share of what succeeds. In an outage all of them would be,
 * and the lanes that are left would get every request twice in the moment when they can bear it least.
 */
export interface RetryBudget {
  /** False: there is none left, and the first failure is the answer. */
  take(model: Model): boolean
  succeeded(model: Model): void
}

export interface RetryTerms {
  readonly percent: number
  /** Even where nothing succeeds. */
  readonly perSecondMin: number
}

const SPAN_SECONDS = 10
/** More than are asked within the span; of any other nothing is lost. */
const MODELS_MAX = 1000

interface Tally {
  readonly successes: SlidingCount
  readonly retries: SlidingCount
}

/** `terms`: undefined where nothing is counted. */
export function createRetryBudget(deps: {
  readonly nowMicros: () => number
  readonly terms: () => RetryTerms | undefined
}): RetryBudget {
  const { nowMicros, terms } = deps
  // By its id: every reload of the configuration makes other models of the same name, also in the middle of an outage.
  const tallies = createLruMap<string, Tally>(MODELS_MAX)
  const tallyOf = ({ id }: Model): Tally => {
    const known = tallies.get(id)
    if (known) return known
    const count = () => createSlidingCount(nowMicros, SPAN_SECONDS * 1_000_000)
    const tally = { successes: count(), retries: count() }
    tallies.set(id, tally)
    return tally
  }
  return {
    take(model) {
      const term = terms()
      if (term === undefined) return true
      const { successes, retries } = tallyOf(model)
      const most = Math.max((successes.total() * term.percent) / 100, term.perSecondMin * SPAN_SECONDS)
      if (retries.total() >= most) return false
      retries.add()
      return true
    },
    succeeded: (model) => tallyOf(model).successes.add(),
  }
}
