import type { LimitRates } from '../model/limit.ts'
import type { KeyChange, StoredKey } from '../store/keys.ts'

/**
 * Whether a key could do anything after a change that it could not before: spend more, last longer, call another model, or
 * call at all. A new name widens nothing, and less of anything does not either.
 */
export function widensKey(key: StoredKey, change: KeyChange): boolean {
  return (
    (change.disabled_at === null && key.disabled_at !== null) ||
    isMore(key.expires_at, change.expires_at) ||
    isMore(key.cap_day_nano, change.cap_day_nano) ||
    isMore(key.cap_month_nano, change.cap_month_nano) ||
    widensLimits(key.limits, change.limits) ||
    widensModels(key.models, change.models)
  )
}

/** Null is no bound at all, and undefined no change. */
const isMore = <Bound extends number | bigint>(before: Bound | null, after: Bound | null | undefined): boolean =>
  after !== undefined && before !== null && (after === null || after > before)

function widensLimits(stored: string | null, change: KeyChange['limits'] = {}): boolean {
  const before = stored === null ? {} : (JSON.parse(stored) as LimitRates)
  return Object.entries(change).some(([name, rate]) => isMore(before[name as keyof LimitRates] ?? null, rate))
}

/** An entry that was not in the list is new, whatever the patterns in it would have admitted. */
function widensModels(before: string | null, after: string | null | undefined): boolean {
  if (before === null || after === undefined) return false
  if (after === null) return true
  const listed = new Set(JSON.parse(before) as string[])
  return (JSON.parse(after) as string[]).some((entry) => !listed.has(entry))
}
