import type { ConsoleError } from '../../contract/errors.ts'
import type { Exchange } from '../exchange.ts'
import { sendJson } from '../send-json.ts'
import { CONSOLE_CODES, type ConsoleCode } from './console-codes.ts'
import { API_HEADERS } from './page-headers.ts'

export interface Advice {
  /** The field that is to blame. */
  readonly param?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

interface Refused extends Advice {
  readonly code: ConsoleCode
  readonly message: string
  readonly requestId: string
}

/** A no from below `/console`, in the one shape that the console reads. */
export const consoleErrorOf = ({ code, message, requestId, param, retryAfterSeconds }: Refused): ConsoleError => ({
  error: { code, message, param: param ?? null, request_id: requestId, retry_after: retryAfterSeconds ?? null },
})

export function refuseConsole(exchange: Exchange, code: ConsoleCode, message: string, advice: Advice = {}): void {
  const { requestId, log } = exchange
  const { retryAfterSeconds } = advice
  log.code = code
  sendJson(exchange, CONSOLE_CODES[code], consoleErrorOf({ code, message, requestId, ...advice }), {
    ...API_HEADERS,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  })
}
