import type { LimitKind, LimitStanding } from '../model/limit.ts'

/**
 * `x-ratelimit-*` under the names that OpenAI's clients read. Where several limits of one kind apply (the key's,
 * the account's, the model's), the one with least left is told: it is the one that will stop the client.
 */
export function limitHeaders(standings: readonly LimitStanding[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const kind of ['requests', 'tokens'] as const) {
    const standing = tightest(standings, kind)
    if (!standing) continue
    headers[`x-ratelimit-limit-${kind}`] = String(standing.limit)
    headers[`x-ratelimit-remaining-${kind}`] = String(standing.remaining)
    headers[`x-ratelimit-reset-${kind}`] = formatDuration(standing.resetMs)
  }
  return headers
}

/** Whether these headers tell of limits already. */
export const tellsLimits = (headers: Readonly<Record<string, unknown>>): boolean =>
  headers['x-ratelimit-limit-requests'] !== undefined || headers['x-ratelimit-limit-tokens'] !== undefined

function tightest(standings: readonly LimitStanding[], kind: LimitKind): LimitStanding | undefined {
  let found: LimitStanding | undefined
  for (const standing of standings) {
    if (standing.kind === kind && (!found || standing.remaining < found.remaining)) found = standing
  }
  return found
}

/** `12ms`, `1.5s`, `6m0s`, `1h0m0s`: how Go prints a duration, which is what clients parse. Never less than it takes. */
function formatDuration(ms: number): string {
  const whole = Math.ceil(ms)
  if (whole > 0 && whole < 1000) return `${whole}ms`
  const tenths = Math.ceil(ms / 100)
  const hours = Math.floor(tenths / 36_000)
  const minutes = Math.floor(tenths / 600) % 60
  const seconds = `${(tenths % 600) / 10}s`
  if (hours > 0) return `${hours}h${minutes}m${seconds}`
  return minutes > 0 ? `${minutes}m${seconds}` : seconds
}
