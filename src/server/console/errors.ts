import { type OperationRefused, REFUSALS } from '../../admin/outcome.ts'
import type { ConsoleError } from '../../contract/values.ts'
import type { RequestContext } from '../request-context.ts'
import { sendJson } from '../respond.ts'
import { API_HEADERS } from '../site-files.ts'

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
  database_unavailable: 503,
  internal_error: 500,
} as const

/** The HTTP status of each code. */
export const CONSOLE_CODES = { ...EDGE_CODES, ...REFUSALS }

type ConsoleCode = keyof typeof CONSOLE_CODES

export interface ConsoleRefusal extends Pick<OperationRefused, 'kind' | 'message' | 'param' | 'retryAfterSeconds'> {
  readonly code: ConsoleCode
}

export const refuse = (
  code: ConsoleCode,
  message: string,
  advice: Pick<OperationRefused, 'param' | 'retryAfterSeconds'> = {},
): ConsoleRefusal => ({ kind: 'refused', code, message, ...advice })

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
