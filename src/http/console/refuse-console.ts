import type { ConsoleError } from '../../contract/errors.ts'
import type { Exchange } from '../exchange.ts'
import { sendJson } from '../send-json.ts'
import { CONSOLE_CODES, type ConsoleCode } from './console-codes.ts'
import { API_HEADERS } from './page-headers.ts'

interface Advice {
  /** The field that is to blame. */
  readonly param?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** A no from below `/console`, in the one shape that the console reads. */
export function refuseConsole(exchange: Exchange, code: ConsoleCode, message: string, advice: Advice = {}): void {
  const { param, retryAfterSeconds } = advice
  exchange.log.code = code
  const body: ConsoleError = {
    error: {
      code,
      message,
      param: param ?? null,
      request_id: exchange.requestId,
      retry_after: retryAfterSeconds ?? null,
    },
  }
  sendJson(exchange, CONSOLE_CODES[code], body, {
    ...API_HEADERS,
    ...(retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) }),
  })
}
