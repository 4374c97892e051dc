import type { Model } from '../catalog/catalog.ts'
import { createLruMap } from '../lib/lru-map.ts'
import { createSlidingCount, type SlidingCount } from '../lib/rates.ts'
import type { StopSignal } from '../lib/stop-signal.ts'
import type { AccountRow } from '../model/ids.ts'

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

/** Lets a request wait for a lane that will soon be tried again, instead of failing with a `Retry-After`. */
export interface RetryAfter {
  /** The longest that one request waits in all, in milliseconds; 0: not at all. */
  mostMs(): number
  /** Resolves to true after `ms`; to false at once when too many wait already, or as soon as the turn is stopped. */
  wait(ms: number, by: AccountRow, signal: StopSignal): Promise<boolean>
}

/** Each waiting request keeps its hold, and most of its body in memory. */
const WAITING_MAX = 256
/** Leaves room for the requests of other accounts. */
const WAITING_OF_ACCOUNT_MAX = 64
/** Jitter, so that they do not all retry at the same moment. */
const SPREAD = 0.1

export function createRetryAfter({
  mostMs,
  random,
}: {
  readonly mostMs: () => number
  readonly random: () => number
}): RetryAfter {
  const waiting = new Map<AccountRow, number>()
  let waitingCount = 0
  const count = (by: AccountRow, change: 1 | -1): void => {
    waitingCount += change
    const own = (waiting.get(by) ?? 0) + change
    if (own === 0) waiting.delete(by)
    else waiting.set(by, own)
  }
  return {
    mostMs,
    async wait(ms, by, signal) {
      if (signal.stopped || waitingCount >= WAITING_MAX || (waiting.get(by) ?? 0) >= WAITING_OF_ACCOUNT_MAX)
        return false
      count(by, 1)
      const passed = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), Math.ceil(ms * (1 + SPREAD * random())))
        const forget = signal.onStop(() => {
          clearTimeout(timer)
          resolve(false)
        })
        timer.unref()
        if (signal.stopped) forget()
      })
      count(by, -1)
      return passed
    },
  }
}
