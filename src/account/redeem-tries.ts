import { correctRate, type RateRule, takeFromRate } from '../lib/gcra.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { AccountRow } from '../model/ids.ts'

/** How often an account may try a code that turns out to be none of its own. */
export interface RedeemTries {
  /** Undefined when it may; else in how many whole seconds it may again. */
  take(account: AccountRow): number | undefined
  /** The try was a good one: who has a stack of codes is not guessing. */
  giveBack(account: AccountRow): void
}

/** Ten at once, and one more every six minutes. */
const RULE: RateRule = { perMinute: 10 / 60, burst: 10 }
/** Accounts that tried lately; those that have been quiet longest are forgotten beyond it. */
const ACCOUNTS_MAX = 10_000

/** In memory: a restart forgets it, which nobody can bring about who has only codes to try. */
export function createRedeemTries(deps: { readonly ticks: () => number }): RedeemTries {
  const reachedAt = createLruMap<AccountRow, number>(ACCOUNTS_MAX)
  return {
    take(account) {
      const now = deps.ticks()
      const decision = takeFromRate(RULE, reachedAt.get(account) ?? now, 1, now)
      if (decision.kind !== 'taken') return decision.kind === 'wait' ? Math.ceil(decision.waitMs / 1000) : 1
      reachedAt.set(account, decision.reachedAt)
      return undefined
    },
    giveBack(account) {
      const reached = reachedAt.get(account)
      if (reached !== undefined) reachedAt.set(account, correctRate(RULE, reached, -1, deps.ticks()))
    },
  }
}
