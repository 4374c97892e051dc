import type { LaneVerdict } from '../../routing/lane-health.ts'
import { WAIT_MAX_MS } from '../../upstream/upstream-answer.ts'
import { isCertain, missesModel, namesOurAccount, type RefusalClass } from '../../wire/refusals/classify-refusal.ts'
import type { ProviderError } from '../../wire/refusals/provider-error.ts'

/** What a client has written wrong says nothing about the lane. */
const CLIENTS_OWN: ReadonlySet<RefusalClass> = new Set([
  'rejected',
  'too-long',
  'too-large',
  'filtered',
  'unsupported-field',
])

const FAILED: LaneVerdict = { kind: 'failed' }

/** Of these a time to come back is worth listening to. */
const OVERLOADED: ReadonlySet<number> = new Set([503, 529])

/** One request that is more than the limit of a minute: smaller ones may be fine, and whoever sent it could go on. */
const TOO_LARGE_FOR_LIMIT = /request (?:is )?too large/i
const ONLY_AFFORDS_LESS = /can only afford/i
const isTooLargeForLimit = ({ status, message }: ProviderError): boolean =>
  status === 413 || TOO_LARGE_FOR_LIMIT.test(message)

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
  const forMs = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, WAIT_MAX_MS)
  if (kind === 'throttled') return isTooLargeForLimit(error) ? undefined : { kind: 'busy', forMs }
  if (error.status !== undefined && OVERLOADED.has(error.status)) return { kind: 'failed', forMs }
  // The status alone may be about this one request; with it a sentence is enough.
  if (kind === 'not-found') return missesModel(error) ? { kind: 'locked-out', of: 'lane' } : FAILED
  // A smaller request may be affordable still.
  if (kind !== 'credential' || ONLY_AFFORDS_LESS.test(error.message)) return FAILED
  // A missing, wrong or unpaid credential is none for any lane.
  if (error.status !== 403) return { kind: 'locked-out', of: 'credential' }
  // 403 may be about this one model, and without a word for it about this one text: firewalls and filters say it as well.
  return namesOurAccount(error) ? { kind: 'locked-out', of: 'lane' } : FAILED
}
