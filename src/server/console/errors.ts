import type { RefusalReason } from '../../admin/outcome.ts'
import type { ConsoleError } from '../../contract/values.ts'
import type { RequestContext } from '../request-context.ts'
import { sendJson } from '../respond.ts'
import { API_HEADERS } from './files.ts'

/** Refusals of the edge, before a use case is called. */
const EDGE_CODES = {
  host_not_allowed: 421,
  https_needed: 403,
  other_site: 403,
  session_ended: 401,
  operators_only: 403,
  no_account: 403,
  not_found: 404,
  method_not_allowed: 405,
  body_too_large: 413,
  json_needed: 415,
  too_many_requests: 429,
  server_draining: 503,
  internal_error: 500,
} as const

type ConsoleCode = keyof typeof EDGE_CODES | RefusalReason

/** The HTTP status of each code. */
export const CONSOLE_CODES: Readonly<Record<ConsoleCode, number>> = {
  ...EDGE_CODES,

  invalid_arguments: 400,
  unknown_operation: 400,
  account_not_found: 404,
  account_exists: 409,
  account_closed: 409,
  key_not_found: 404,
  key_revoked: 409,
  model_not_found: 404,
  request_not_found: 404,
  invalid_amount: 400,
  invalid_expiry: 400,
  plan_not_found: 404,
  no_subscription: 409,
  ref_taken: 409,
  balance_too_small: 409,

  confirm_password: 403,
  wrong_password: 403,
  too_many_tries: 429,
  busy: 503,
  invite_not_valid: 403,
  email_missing: 400,
  person_exists: 409,
  person_not_found: 404,
  person_disabled: 409,
  last_operator: 409,
  session_not_found: 404,

  invalid_grace: 400,
  invalid_range: 400,
  invalid_cursor: 400,
  window_not_found: 404,
  key_changed: 409,

  account_suspended: 403,
  code_not_found: 404,
  code_mistyped: 400,
  code_redeemed: 409,
  wallet_full: 409,
  key_without_secret: 409,
  too_many_keys: 409,
}

export interface ConsoleRefusal extends Advice {
  readonly kind: 'refused'
  readonly code: ConsoleCode
  readonly message: string
}

interface Advice {
  /** The field that caused the refusal. */
  readonly param?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

export const refuse = (code: ConsoleCode, message: string, advice: Advice = {}): ConsoleRefusal => ({
  ...{ kind: 'refused', code, message },
  ...advice,
})

export const consoleErrorOf = (
  { code, message, param, retryAfterSeconds }: ConsoleRefusal,
  requestId: string,
): ConsoleError => ({
  error: { code, message, param: param ?? null, request_id: requestId, retry_after: retryAfterSeconds ?? null },
})

export function sendRefusal(context: RequestContext, refusal: ConsoleRefusal): void {
  const { code, retryAfterSeconds } = refusal
  context.log.code = code
  sendJson(context, CONSOLE_CODES[code], consoleErrorOf(refusal, context.requestId), {
    ...API_HEADERS,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  })
}
