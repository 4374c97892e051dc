import type { LaneVerdict } from '../routing/lane-health.ts'
import { WAIT_MAX_MS } from '../upstream/retry-after.ts'
import { isCertain, type RefusalClass } from '../wire/classify-refusal.ts'
import type { ProviderError } from '../wire/read-provider-error.ts'

/** What a client has written wrong says nothing about the lane. */
const CLIENTS_OWN: ReadonlySet<RefusalClass> = new Set([
  'rejected',
  'too-long',
  'too-large',
  'filtered',
  'unsupported-field',
])

const FAILED: LaneVerdict = { kind: 'failed' }

/**
 * What a refusal says of the lane, which serves everybody; undefined where it says nothing. One word of a status or a code
 * is enough to leave it alone. A sentence may quote a client, so it counts as one failure among others.
 */
export function verdictOfRefusal(
  kind: RefusalClass,
  error: ProviderError,
  retryAfterMs: number | undefined,
): LaneVerdict | undefined {
  if (CLIENTS_OWN.has(kind)) return undefined
  if (!isCertain(error)) return FAILED
  if (kind === 'throttled') {
    return { kind: 'busy', forMs: retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, WAIT_MAX_MS) }
  }
  // 403 may be about this one model; a missing, wrong or unpaid credential is none for any.
  if (kind === 'credential') return { kind: 'locked-out', of: error.status === 403 ? 'lane' : 'credential' }
  return FAILED
}
