import type { AccountRow } from '../model/ids.ts'

/** Answers that are read to their end without a client, to learn what they have cost. */
export interface Drains {
  readonly running: number
  /**
   * Returns how to say that it is over; undefined when there is no place for it. `stop` is called when its time is up, or
   * when its place goes to another account, if it is not over by then.
   */
  begin(account: AccountRow, stop: () => void): (() => void) | undefined
}

interface DrainBounds {
  readonly msMax: number
  readonly atOnceMax: number
}

/**
 * Most answers have ended within a minute; a provider may go on for as long as `timeouts.total`, and working that long for
 * nobody would cost more than an estimate is wrong. Each drain keeps a connection and a hold: were there no limit, whoever
 * asks and hangs up again and again would have as many of them as he likes.
 */
const DRAIN_BOUNDS: DrainBounds = { msMax: 60_000, atOnceMax: 100 }

const LOOK_EVERY_MS = 500

interface Drain {
  readonly stop: () => void
  readonly over: () => void
}

/**
 * Places are shared fairly: one account has at most half of them, and when all are taken, an account that has at least two
 * fewer than another takes the oldest of the one that has most. `nowMicros` are monotonic microseconds.
 */
export function createDrains(deps: { readonly nowMicros: () => number }, bounds = DRAIN_BOUNDS): Drains {
  const byAccount = new Map<AccountRow, Set<Drain>>()
  const perAccountMax = Math.ceil(bounds.atOnceMax / 2)
  let running = 0

  const hasPlace = (account: AccountRow): boolean => {
    const own = byAccount.get(account)?.size ?? 0
    if (own >= perAccountMax) return false
    if (running < bounds.atOnceMax) return true
    const most = mostOf(byAccount.values())
    if (most === undefined || most.size < own + 2) return false
    const [oldest] = most
    oldest?.over()
    oldest?.stop()
    return true
  }

  return {
    get running() {
      return running
    },
    begin(account, stop) {
      if (!hasPlace(account)) return undefined
      running++
      const drains = byAccount.get(account) ?? new Set()
      byAccount.set(account, drains)
      const until = deps.nowMicros() + bounds.msMax * 1000
      const timer = setInterval(() => {
        if (deps.nowMicros() < until) return
        over()
        stop()
      }, LOOK_EVERY_MS)
      const over = () => {
        if (!drains.delete(drain)) return
        if (drains.size === 0) byAccount.delete(account)
        running--
        clearInterval(timer)
      }
      const drain = { stop, over }
      drains.add(drain)
      return over
    },
  }
}

function mostOf(accounts: Iterable<ReadonlySet<Drain>>): ReadonlySet<Drain> | undefined {
  let most: ReadonlySet<Drain> | undefined
  for (const drains of accounts) if (most === undefined || drains.size > most.size) most = drains
  return most
}
