import type { LimitKind, LimitStanding } from '../model/limit.ts'

/**
 * `x-ratelimit-*` under the names that OpenAI's clients read. Where a key's and an account's limit of one kind both
 * apply, the one with less left is told: it is the one that will stop the client.
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

function tightest(standings: readonly LimitStanding[], kind: LimitKind): LimitStanding | undefined {
  let found: LimitStanding | undefined
  for (const standing of standings) {
    if (standing.kind === kind && (!found || standing.remaining < found.remaining)) found = standing
  }
  return found
}

/** `12ms`, `1.5s`, `6m0s`: how Go prints a duration, which is what clients parse. */
function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 100) / 10
  if (seconds < 60) return `${seconds}s`
  return `${Math.floor(seconds / 60)}m${Math.ceil(seconds % 60)}s`
}
