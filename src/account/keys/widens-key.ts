import { ratesOfKey } from '../../limits/limits-for-turn.ts'
import type { LimitRates } from '../../model/limit.ts'
import type { KeyChange, StoredKey } from '../../store/keys.ts'
import { refused } from '../outcome.ts'

/**
 * Whether a key could do anything after a change that it could not before: spend more, last longer, call another model, or
 * call at all. A new name widens nothing, and less of anything does not either. `configured` is what holds where a key has no
 * limit of its own.
 */
export function widensKey(key: StoredKey, change: KeyChange, configured: LimitRates): boolean {
  return (
    (change.disabled_at === null && key.disabled_at !== null) ||
    isMore(key.expires_at, change.expires_at) ||
    isMore(key.cap_day_nano, change.cap_day_nano) ||
    isMore(key.cap_month_nano, change.cap_month_nano) ||
    widensLimits(key.limits, change.limits, configured) ||
    widensModels(key.models, change.models)
  )
}

/** Null is no bound at all, and undefined no change. */
const isMore = <Bound extends number | bigint>(before: Bound | null, after: Bound | null | undefined): boolean =>
  after !== undefined && before !== null && (after === null || after > before)

function widensLimits(stored: string | null, change: KeyChange['limits'], configured: LimitRates): boolean {
  if (change === undefined) return false
  const own = stored === null ? {} : (JSON.parse(stored) as LimitRates)
  const left = Object.entries({ ...own, ...change }).filter(([, rate]) => rate !== null)
  const before = boundsOf(ratesOfKey(configured, own))
  const after = boundsOf(ratesOfKey(configured, Object.fromEntries(left)))
  return before.some((bound, which) => isMore(bound, after[which]))
}

/** Without a burst of its own, all of a rate may come at once. */
const boundsOf = (rates: LimitRates): (number | null)[] => [
  rates.requestsPerMinute ?? null,
  rates.requestsBurst ?? rates.requestsPerMinute ?? null,
  rates.tokensPerMinute ?? null,
  rates.tokensBurst ?? rates.tokensPerMinute ?? null,
  rates.concurrent ?? null,
]

/** An entry that was not in the list is new, whatever the patterns in it would have admitted. */
function widensModels(before: string | null, after: string | null | undefined): boolean {
  if (before === null || after === undefined) return false
  if (after === null) return true
  const listed = new Set(JSON.parse(before) as string[])
  return (JSON.parse(after) as string[]).some((entry) => !listed.has(entry))
}

export const confirmToWiden = refused(
  'confirm_password',
  'This lets a key do more than before, which needs your password again, as it was given a while ago.',
)
