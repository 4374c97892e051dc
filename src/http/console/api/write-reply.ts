import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { assertNever } from '../../../lib/assert-never.ts'
import { CONSOLE_CODES, type ConsoleRefusal, consoleErrorOf } from '../console-refusal.ts'
import { deviceCookie, endedCookie, sessionCookie } from '../session-cookie.ts'
import type { AnyReply, Asking, FileReply } from './ask.ts'

type AskingContext = Context<{ Bindings: Asking }>

/** What a handler said, as an answer of HTTP. */
export function writeReply(context: AskingContext, reply: AnyReply): Response {
  switch (reply.kind) {
    case 'done':
      return context.json(reply.value as object)
    case 'refused': {
      const { reason: code, ...rest } = reply
      return writeRefusal(context, { code, ...rest })
    }
    case 'session': {
      const { site } = context.env
      const { deviceTokens } = reply
      context.header('set-cookie', reply.secret === undefined ? endedCookie(site) : sessionCookie(reply.secret, site))
      if (deviceTokens !== undefined) context.header('set-cookie', deviceCookie(deviceTokens, site), { append: true })
      return context.json(reply.value as object)
    }
    case 'file':
      return writeFile(context, reply)
    default:
      return assertNever(reply)
  }
}

export function writeRefusal(context: AskingContext, refusal: ConsoleRefusal): Response {
  const { code, retryAfterSeconds } = refusal
  const { requestId, log } = context.env
  log.code = code
  if (retryAfterSeconds !== undefined) context.header('retry-after', String(retryAfterSeconds))
  return context.json(consoleErrorOf(refusal, requestId), CONSOLE_CODES[code] as ContentfulStatusCode)
}

/** As a download, whatever is in it: a browser shall not show it as a page of this site. */
function writeFile(context: AskingContext, { name, pieces }: FileReply): Response {
  context.header('content-disposition', `attachment; filename="${name}"`)
  context.header('content-type', 'text/csv; charset=utf-8')
  return context.body(ReadableStream.from(pieces).pipeThrough(new TextEncoderStream()))
}
