import { createLruMap } from '../lib/lru-map.ts'
import { networkOf } from '../lib/network.ts'
import { type RateRule, takeFromRate } from '../lib/rates.ts'

export interface AddressRates {
  /** Takes one from the rate of the network that the address is in; refused, it says under which rule and for how long. */
  take(address: string): { readonly kind: 'taken' } | AddressRefusal
  /** Networks that have not earned back everything yet. */
  readonly size: number
}

interface AddressRefusal {
  readonly kind: 'refused'
  readonly perMinute: number
  readonly waitMs: number
}

interface AddressRateDeps {
  readonly nowMicros: () => number
  /** Asked every time, because the configuration may change; without a rule everything is let through. */
  readonly rule: () => RateRule | undefined
  readonly networksMax?: number
}

/** About a hundred bytes each. Beyond it the networks that have been quiet longest are forgotten. */
const NETWORKS_MAX = 100_000
/** What is tidied up at one request, so that none of them pays for a flood that is over. */
const FORGOTTEN_AT_ONCE = 100

export function createAddressRates({ nowMicros, rule, networksMax = NETWORKS_MAX }: AddressRateDeps): AddressRates {
  const reachedAt = createLruMap<string, number>(networksMax)

  /** The one that has been quiet longest comes first; how long any of them has to wait is bounded by the burst. */
  const forgetEarnedBack = (now: number) => {
    let left = FORGOTTEN_AT_ONCE
    for (const [network, reached] of reachedAt.entries()) {
      if (reached > now || left-- === 0) return
      reachedAt.delete(network)
    }
  }

  return {
    take(address) {
      const applied = rule()
      if (applied === undefined) return { kind: 'taken' }
      const now = nowMicros()
      forgetEarnedBack(now)
      const network = networkOf(address)
      const decision = takeFromRate(applied, reachedAt.get(network) ?? now, 1, now)
      if (decision.kind === 'taken') {
        reachedAt.set(network, decision.reachedAt)
        return decision
      }
      // One is never more than the burst, which is at least one.
      const waitMs = decision.kind === 'wait' ? decision.waitMs : 0
      return { kind: 'refused', perMinute: applied.perMinute, waitMs }
    },
    get size() {
      return reachedAt.size
    },
  }
}
