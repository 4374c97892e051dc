import type { Model } from '../catalog/catalog.ts'
import type { StopSignal } from '../lib/async.ts'
import { createLruMap } from '../lib/collections.ts'
import { createSlidingCount, type SlidingCount } from '../lib/rate-limit.ts'
import type { AccountRow } from '../model/ids.ts'

/**
 * How many turns may retry on another lane: a share of those that succeed. Otherwise an outage would send every request twice to
 * the lanes that are left.
 */
export interface RetryBudget {
  /** False: the budget is spent, and the first failure is the answer. */
  take(model: Model): boolean
  succeeded(model: Model): void
}

export interface RetryTerms {
  readonly percent: number
  /** Allowed even where nothing succeeds. */
  readonly perSecondMin: number
}

const SPAN_SECONDS = 10
/** More models than are called within the span. */
const MODELS_MAX = 1000

interface Tally {
  readonly successes: SlidingCount
  readonly retries: SlidingCount
}

/** `terms`: undefined for an unlimited budget. */
export function createRetryBudget(deps: {
  readonly nowMicros: () => number
  readonly terms: () => RetryTerms | undefined
}): RetryBudget {
  const { nowMicros, terms } = deps
  // By id: a reload of the configuration makes new objects of the same models, also in the middle of an outage.
  const tallies = createLruMap<string, Tally>(MODELS_MAX)
  const openTally = ({ id }: Model): Tally => {
    const span = SPAN_SECONDS * 1_000_000
    const tally = { successes: createSlidingCount(nowMicros, span), retries: createSlidingCount(nowMicros, span) }
    tallies.set(id, tally)
    return tally
  }
  return {
    take(model) {
      const term = terms()
      if (term === undefined) return true
      const { successes, retries } = tallies.get(model.id) ?? openTally(model)
      const most = Math.max((successes.total() * term.percent) / 100, term.perSecondMin * SPAN_SECONDS)
      if (retries.total() >= most) return false
      retries.add()
      return true
    },
    succeeded: (model) => (tallies.get(model.id) ?? openTally(model)).successes.add(),
  }
}

/** Lets a request wait for a lane that will soon be half-open, instead of failing with a `Retry-After`. */
export interface RetryWait {
  /** The longest that one request waits in all, in milliseconds; 0: not at all. */
  maxMs(): number
  /** Resolves to true after `ms`; to false at once when too many requests wait, or as soon as the turn is stopped. */
  wait(ms: number, account: AccountRow, signal: StopSignal): Promise<boolean>
}

/** Each waiting request keeps its hold, and most of its body in memory. */
const WAITING_MAX = 256
/** Leaves room for the requests of other accounts. */
const WAITING_OF_ACCOUNT_MAX = 64
/** Jitter, so that they do not all retry at the same moment. */
const JITTER = 0.1

export function createRetryWait({
  maxMs,
  random,
}: {
  readonly maxMs: () => number
  readonly random: () => number
}): RetryWait {
  const waiting = new Map<AccountRow, number>()
  let waitingCount = 0
  const count = (account: AccountRow, change: 1 | -1): void => {
    waitingCount += change
    const own = (waiting.get(account) ?? 0) + change
    if (own === 0) waiting.delete(account)
    else waiting.set(account, own)
  }
  return {
    maxMs,
    async wait(ms, account, signal) {
      if (signal.stopped || waitingCount >= WAITING_MAX || (waiting.get(account) ?? 0) >= WAITING_OF_ACCOUNT_MAX)
        return false
      count(account, 1)
      const passed = await new Promise<boolean>((resolve) => {
        const timer = setTimeout(() => resolve(true), Math.ceil(ms * (1 + JITTER * random())))
        timer.unref()
        signal.onStop = () => {
          clearTimeout(timer)
          resolve(false)
        }
      })
      signal.onStop = undefined
      count(account, -1)
      return passed
    },
  }
}
