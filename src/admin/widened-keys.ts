import type { CapAmounts } from '../db/caps.ts'
import type { KeyChange, StoredKey } from '../db/keys.ts'
import { rateLimitsOfKey } from '../limits/limits.ts'
import { CAP_NAMES } from '../model/allowance.ts'
import type { RateLimits } from '../model/caller.ts'

/**
 * Whether the change lets the key do more: spend more, last longer, call another model, from another address, outside a run, or call at all. `configured` are the
 * limits of a key without its own.
 */
export function widensKey(key: StoredKey, caps: CapAmounts, change: KeyChange, configured: RateLimits): boolean {
  return (
    (change.disabled_at === null && key.disabled_at !== null) ||
    isMore(key.expires_at, change.expires_at) ||
    CAP_NAMES.some((name) => isMore(caps[name] ?? null, change.caps?.[name])) ||
    widensLimits(key.limits, change.limits, configured) ||
    widensList(key.models, change.models) ||
    widensList(key.addresses, change.addresses) ||
    // Another rule may always let something through that the former one did not.
    (key.run !== null && change.run !== undefined && change.run !== key.run)
  )
}

/** Null means no limit, undefined no change. */
const isMore = <Bound extends number | bigint>(before: Bound | null, after: Bound | null | undefined): boolean =>
  after !== undefined && before !== null && (after === null || after > before)

function widensLimits(stored: string | null, change: KeyChange['limits'], configured: RateLimits): boolean {
  if (change === undefined) return false
  const own = stored === null ? {} : (JSON.parse(stored) as RateLimits)
  const left = Object.entries({ ...own, ...change }).filter(([, rate]) => rate !== null)
  const before = boundsOf(rateLimitsOfKey(configured, own))
  const after = boundsOf(rateLimitsOfKey(configured, Object.fromEntries(left)))
  return before.some((bound, which) => isMore(bound, after[which]))
}

/** Without its own burst, the whole rate may come at once. */
const boundsOf = (rateLimits: RateLimits): (number | null)[] => [
  rateLimits.requestsPerMinute ?? null,
  rateLimits.requestsBurst ?? rateLimits.requestsPerMinute ?? null,
  rateLimits.tokensPerMinute ?? null,
  rateLimits.tokensBurst ?? rateLimits.tokensPerMinute ?? null,
  rateLimits.concurrent ?? null,
]

/** Any entry that is not in the old list widens it, even if an old pattern or network covers it. Null admits everything. */
function widensList(before: string | null, after: string | null | undefined): boolean {
  if (before === null || after === undefined) return false
  if (after === null) return true
  const listed = new Set(JSON.parse(before) as string[])
  return (JSON.parse(after) as string[]).some((entry) => !listed.has(entry))
}
