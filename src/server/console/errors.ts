import type { ConsoleError } from '../../contract/values.ts'
import type { RequestContext } from '../request-context.ts'
import { sendJson } from '../respond.ts'
import { REFUSAL_STATUSES, type RouteRefusal } from '../route-replies.ts'
import { API_HEADERS } from '../site-files.ts'

export const consoleErrorOf = (
  { code, message, param, retryAfterSeconds }: RouteRefusal,
  requestId: string,
): ConsoleError => ({
  error: { code, message, param: param ?? null, request_id: requestId, retry_after: retryAfterSeconds ?? null },
})

export function sendRefusal(context: RequestContext, refusal: RouteRefusal): void {
  const { code, retryAfterSeconds } = refusal
  context.log.code = code
  sendJson(context, REFUSAL_STATUSES[code], consoleErrorOf(refusal, context.requestId), {
    ...API_HEADERS,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  })
}
