import { AddressRefused } from './guarded-connector.ts'
import { UpstreamCancelled, type UpstreamFailed, UpstreamRedirected, UpstreamTimedOut } from './upstream-answer.ts'

export interface FailedCall {
  readonly upstreamId: string
  /** Some of the request may have left. */
  readonly sent: boolean
}

/** What a failed call means. Messages of other people's errors hold addresses and more: only their codes are repeated. */
export function describeFailure(error: Error, { upstreamId, sent }: FailedCall): UpstreamFailed {
  if (error instanceof UpstreamCancelled)
    return { ...failed('cancelled', `The call of ${upstreamId} was cancelled.`), ...(sent ? {} : { wasSent: false }) }
  if (error instanceof UpstreamRedirected)
    return failed('redirected', `${upstreamId} answered with a redirect, which is not followed: check its base_url.`)
  const expired = expiredPhase(error, sent)
  if (expired !== undefined)
    return { ...failed('timeout', `${upstreamId} was too slow: its ${expired} timeout passed.`), expired }
  const code = codeOf(error)
  if (error instanceof AddressRefused) return { ...failed('not-sent', `${error.message}.`), code }
  const failure = sent
    ? failed('broken-off', `${upstreamId} took the request and broke off${BROKEN[code] ?? ''} (${code}).`)
    : failed('not-sent', `${upstreamId} could not be reached${reachedWords(code)} (${code}).`)
  return { ...failure, code }
}

const failed = (reason: UpstreamFailed['reason'], message: string): UpstreamFailed => ({
  kind: 'failed',
  reason,
  message,
})

function expiredPhase(error: Error, sent: boolean) {
  if (codeOf(error) === 'UND_ERR_CONNECT_TIMEOUT') return 'connect'
  if (!(error instanceof UpstreamTimedOut)) return undefined
  // What took so long was the connection, whatever was to come after it.
  return sent ? error.phase : 'connect'
}

const BROKEN: Readonly<Record<string, string>> = {
  UND_ERR_HEADERS_OVERFLOW: ': its head is too large',
  HTTP_PARSER: ': what it answered is no HTTP',
  ANSWER_COMPRESSED: ': it compressed its answer, although it was asked not to',
}

const UNREACHED: Readonly<Record<string, string>> = {
  ECONNREFUSED: ': nothing listens there',
  ENOTFOUND: ': its name is not known',
  EAI_AGAIN: ': its name could not be looked up',
  ETIMEDOUT: ': the network gave no answer',
  EHOSTUNREACH: ': there is no way to it',
  ENETUNREACH: ': there is no way to it',
  UND_ERR_DESTROYED: ': this server is stopping',
  UND_ERR_CLOSED: ': this server is stopping',
}

const reachedWords = (code: string): string =>
  UNREACHED[code] ?? (/CERT|TLS|SSL|SIGNATURE|ISSUER|EPROTO/.test(code) ? ': the secure connection failed' : '')

/** Of the error or of what it gathers: trying several addresses fails with one error for each. */
function codeOf(error: Error): string {
  // The library has a code for it in its sources, and loses it on the way.
  if (error.name === 'HTTPParserError') return 'HTTP_PARSER'
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]*$/.test(code) ? code : 'no code'
}
