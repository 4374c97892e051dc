import { assertNever } from '../lib/types.ts'

/**
 * The closed table of API errors: status, type and retry. Each protocol only encodes them. The console has its own codes. A
 * test keeps `docs/api/errors.md` equal to the table.
 *
 * The texts are not here: each is written where the error is raised (`gateway/refusals.ts`: limits and money,
 * `gateway/upstream-errors.ts`: providers, `auth/callers.ts`: keys, `protocols/fields/`: fields). Search for the code, or for words from
 * the middle of the text: it may begin with a name, and `retryableProblem` adds its end.
 *
 * retry: `no` adds nothing, so that SDKs decide by the status; `never` sends `x-should-retry: false` where they would retry;
 * `after` sends Retry-After; `reset` sends Retry-After and forbids the automatic retry, because the wait may be days.
 */
export const PROBLEMS = {
  invalid_json: { status: 400, type: 'invalid_request_error', retry: 'no' },
  missing_required_parameter: { status: 400, type: 'invalid_request_error', retry: 'no' },
  run_required: { status: 400, type: 'invalid_request_error', retry: 'no' },
  invalid_type: { status: 400, type: 'invalid_request_error', retry: 'no' },
  invalid_value: { status: 400, type: 'invalid_request_error', retry: 'no' },
  unsupported_parameter: { status: 400, type: 'invalid_request_error', retry: 'no' },
  unsupported_value: { status: 400, type: 'invalid_request_error', retry: 'no' },
  unsupported_tool: { status: 400, type: 'invalid_request_error', retry: 'no' },
  unsupported_content: { status: 400, type: 'invalid_request_error', retry: 'no' },
  reasoning_effort_conflict: { status: 400, type: 'invalid_request_error', retry: 'no' },
  context_length_exceeded: { status: 400, type: 'invalid_request_error', retry: 'no' },
  previous_response_not_found: { status: 400, type: 'invalid_request_error', retry: 'no' },
  item_not_found: { status: 400, type: 'invalid_request_error', retry: 'no' },
  invalid_encrypted_content: { status: 400, type: 'invalid_request_error', retry: 'no' },
  idempotency_key_invalid: { status: 400, type: 'invalid_request_error', retry: 'no' },
  duplicate_header: { status: 400, type: 'invalid_request_error', retry: 'no' },
  duplicate_field: { status: 400, type: 'invalid_request_error', retry: 'no' },
  malformed_request: { status: 400, type: 'invalid_request_error', retry: 'no' },
  upstream_rejected: { status: 400, type: 'invalid_request_error', retry: 'no' },
  // The provider's own codes, which agents know: a retry would be refused again.
  invalid_prompt: { status: 400, type: 'invalid_request_error', retry: 'no' },
  content_filter: { status: 400, type: 'invalid_request_error', retry: 'no' },
  bio_policy: { status: 400, type: 'invalid_request_error', retry: 'no' },
  cyber_policy: { status: 400, type: 'invalid_request_error', retry: 'no' },
  missing_api_key: { status: 401, type: 'authentication_error', retry: 'no' },
  invalid_api_key: { status: 401, type: 'authentication_error', retry: 'no' },
  insufficient_balance: { status: 402, type: 'insufficient_quota', retry: 'never' },
  key_spend_cap_reached: { status: 402, type: 'insufficient_quota', retry: 'never' },
  person_spend_cap_reached: { status: 402, type: 'insufficient_quota', retry: 'never' },
  team_budget_reached: { status: 402, type: 'insufficient_quota', retry: 'never' },
  run_budget_exceeded: { status: 402, type: 'insufficient_quota', retry: 'never' },
  subscription_inactive: { status: 402, type: 'insufficient_quota', retry: 'never' },
  request_exceeds_allowance: { status: 402, type: 'insufficient_quota', retry: 'never' },
  browser_not_allowed: { status: 403, type: 'permission_error', retry: 'no' },
  insufficient_scope: { status: 403, type: 'permission_error', retry: 'no' },
  key_address_not_allowed: { status: 403, type: 'permission_error', retry: 'no' },
  account_suspended: { status: 403, type: 'permission_error', retry: 'no' },
  model_not_found: { status: 404, type: 'invalid_request_error', retry: 'no' },
  endpoint_not_provided: { status: 404, type: 'invalid_request_error', retry: 'no' },
  response_not_found: { status: 404, type: 'invalid_request_error', retry: 'no' },
  request_not_found: { status: 404, type: 'invalid_request_error', retry: 'no' },
  run_not_found: { status: 404, type: 'invalid_request_error', retry: 'no' },
  method_not_allowed: { status: 405, type: 'invalid_request_error', retry: 'no' },
  request_timeout: { status: 408, type: 'invalid_request_error', retry: 'no' },
  idempotency_in_progress: { status: 409, type: 'conflict_error', retry: 'after' },
  idempotency_not_replayable: { status: 409, type: 'conflict_error', retry: 'never' },
  request_too_large: { status: 413, type: 'invalid_request_error', retry: 'no' },
  unsupported_media_type: { status: 415, type: 'invalid_request_error', retry: 'no' },
  expectation_failed: { status: 417, type: 'invalid_request_error', retry: 'no' },
  idempotency_key_reused: { status: 422, type: 'invalid_request_error', retry: 'no' },
  websocket_not_supported: { status: 426, type: 'invalid_request_error', retry: 'no' },
  rate_limit_exceeded: { status: 429, type: 'rate_limit_error', retry: 'after' },
  balance_in_flight: { status: 429, type: 'rate_limit_error', retry: 'after' },
  upstream_busy: { status: 429, type: 'rate_limit_error', retry: 'after' },
  request_too_large_for_limit: { status: 429, type: 'rate_limit_error', retry: 'never' },
  allowance_exhausted: { status: 429, type: 'usage_limit_reached', retry: 'reset' },
  quota_reached: { status: 429, type: 'usage_limit_reached', retry: 'reset' },
  quota_in_flight: { status: 429, type: 'rate_limit_error', retry: 'after' },
  headers_too_large: { status: 431, type: 'invalid_request_error', retry: 'no' },
  internal_error: { status: 500, type: 'server_error', retry: 'no' },
  server_is_overloaded: { status: 503, type: 'service_unavailable_error', retry: 'after' },
  server_draining: { status: 503, type: 'service_unavailable_error', retry: 'after' },
  ledger_unavailable: { status: 503, type: 'service_unavailable_error', retry: 'after' },
  no_lane_available: { status: 503, type: 'service_unavailable_error', retry: 'after' },
  upstream_timeout: { status: 503, type: 'service_unavailable_error', retry: 'after' },
  provider_misconfigured: { status: 503, type: 'permission_error', retry: 'never' },
  // Sent only inside a stream that has begun with status 200.
  response_cancelled: { status: 409, type: 'invalid_request_error', retry: 'never' },
  insufficient_quota: { status: 503, type: 'insufficient_quota', retry: 'never' },
  upstream_error: { status: 503, type: 'server_error', retry: 'after' },
} as const satisfies Record<string, ProblemRow>

interface ProblemRow {
  readonly status: number
  readonly type: string
  readonly retry: 'no' | 'never' | 'after' | 'reset'
}

export type ProblemCode = keyof typeof PROBLEMS

/** An error for the client. The message says what was received and what to do next, and contains no secret. */
export interface Problem {
  readonly code: ProblemCode
  readonly message: string
  readonly param: string | null
  /** Who refused: this gateway, or the provider behind it. */
  readonly source: 'gateway' | 'upstream'
  readonly retryAfterSeconds?: number
  /** Facts beside the envelope's own fields, such as `resets_at` of an allowance, or headers such as `allow`. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

type ProblemDetails = Partial<Omit<Problem, 'code' | 'message'>>

export const problem = (code: ProblemCode, message: string, details: ProblemDetails = {}): Problem => ({
  param: null,
  source: 'gateway',
  ...details,
  code,
  message,
})

/** The log has the error under the request id. */
export const internalError = (requestId: string): Problem =>
  problem('internal_error', `Something went wrong on our side. Tell the operator this request id: ${requestId}`)

interface RetryDetails extends ProblemDetails {
  readonly retryAfterSeconds: number
  /** What the client should also know or do, as half a sentence. */
  readonly first?: string | undefined
}

const tryAgainIn = (seconds: number): string => `try again in ${seconds}s.`

/** A temporary problem. Its message and its Retry-After header name the same time. */
export const retryableProblem = (
  code: ProblemCode,
  what: string,
  { first = 'Nothing was charged', ...details }: RetryDetails,
): Problem => problem(code, `${what} ${first}; ${tryAgainIn(details.retryAfterSeconds)}`, details)

/** The same problem with another time. A problem without a time stays unchanged. */
export function withRetryAfter(problem: Problem, retryAfterSeconds: number): Problem {
  const { retryAfterSeconds: seconds } = problem
  if (seconds === undefined) return problem
  const message = problem.message.replace(tryAgainIn(seconds), tryAgainIn(retryAfterSeconds))
  return { ...problem, message, retryAfterSeconds }
}

export interface Refused {
  readonly kind: 'refused'
  readonly problem: Problem
}

export const refused = (subject: Problem): Refused => ({ kind: 'refused', problem: subject })

const RETRY_AFTER_DEFAULT = 1

/** The headers that tell SDKs whether and when to retry. */
export function retryHeaders(subject: Problem): Record<string, string> {
  const after = () => String(Math.max(1, Math.ceil(subject.retryAfterSeconds ?? RETRY_AFTER_DEFAULT)))
  const { retry } = PROBLEMS[subject.code]
  switch (retry) {
    case 'no':
      return {}
    case 'never':
      return { 'x-should-retry': 'false' }
    case 'after':
      return { 'retry-after': after() }
    case 'reset':
      return { 'retry-after': after(), 'x-should-retry': 'false' }
    default:
      return assertNever(retry)
  }
}

/** The envelope of every error response: `docs/api/errors.md`. */
export function problemEnvelope(subject: Problem, requestId: string): { error: Record<string, unknown> } {
  const { code, message, param, source, details } = subject
  return { error: { message, type: PROBLEMS[code].type, param, code, source, ...details, request_id: requestId } }
}

/**
 * The envelope inside a stream, where no status shows that a failure is temporary. Continue retries after the type
 * `server_error`, which OpenAI uses there, and not after `service_unavailable_error`: `docs/clients/broken-streams.md`.
 */
export function streamEnvelope(subject: Problem, requestId: string): { error: Record<string, unknown> } {
  const { error } = problemEnvelope(subject, requestId)
  return error.type === 'service_unavailable_error' ? { error: { ...error, type: 'server_error' } } : { error }
}

/** Whether a retry would be refused again. An internal error may not happen again. */
export function isFinal(code: ProblemCode): boolean {
  const { retry, status } = PROBLEMS[code]
  return retry === 'never' || (retry === 'no' && status < 500)
}
