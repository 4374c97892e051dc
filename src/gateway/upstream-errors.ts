import { wholeSeconds } from '../lib/clock.ts'
import { type Problem, type ProblemCode, problem, retryableProblem } from '../model/problem.ts'
import type { TurnRequest } from '../model/turn.ts'
import {
  classifyRefusal,
  isCertain,
  missesModel,
  namesOurAccount,
  type ProviderError,
  type RefusalClass,
  refusesSeals,
  type UpstreamError,
} from '../protocols/refusals/provider-error.ts'
import { BROKEN_ARGUMENTS } from '../protocols/tools/tool-names.ts'
import type { DeadlinePhase } from '../providers/deadlines.ts'
import { type UpstreamFailed, WAIT_MAX_MS } from '../providers/upstream-answer.ts'
import type { LaneVerdict } from '../routing/circuit-breaker.ts'
import { oneLine, scrub } from '../telemetry/scrub.ts'
import type { FailedLane } from './attempt.ts'

/** A failure of a lane. Its message depends on whether content has gone out: `problemBeforeContent` or `problemInStream`. */
export interface LaneFault {
  readonly code: ProblemCode
  readonly what: string
  /** The provider's own message. */
  readonly quote?: string
  readonly param?: string | null
  /** Set for a retryable failure. */
  readonly retryAfterSeconds?: number
}

function problemBeforeContent({ code, what, quote, param = null, retryAfterSeconds }: LaneFault): Problem {
  const details = { source: 'upstream', param } as const
  if (retryAfterSeconds !== undefined) return retryableProblem(code, what, { ...details, retryAfterSeconds })
  const money = code === 'context_length_exceeded' ? undefined : 'Nothing was charged.'
  // `insufficient_quota` is sent only inside a stream.
  const sent = code === 'insufficient_quota' ? 'provider_misconfigured' : code
  return problem(sent, sentences(what, money, quote), details)
}

/** Codes that change inside a stream, because agents react to them differently after content. */
const IN_STREAM: Partial<Record<ProblemCode, ProblemCode>> = {
  server_is_overloaded: 'upstream_error',
  upstream_busy: 'rate_limit_exceeded',
}

/** After content an answer is charged, and there is no failover. A final failure does not suggest a retry. */
export function problemInStream({ code, what, quote, param = null, retryAfterSeconds }: LaneFault): Problem {
  const sent = IN_STREAM[code] ?? code
  const details = { source: 'upstream', param } as const
  const first = 'The input and the output so far are charged'
  return retryAfterSeconds === undefined
    ? problem(sent, sentences(what, quote, `${first}.`), details)
    : retryableProblem(sent, what, { ...details, first, retryAfterSeconds })
}

const sentences = (...texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined).join(' ')

/** The lane failed after the request was sent. */
export const failedLane = (fault: LaneFault): FailedLane => ({
  kind: 'failed',
  problem: problemBeforeContent(fault),
  failsOnEveryLane: false,
  mayBeBilled: true,
  verdict: FAILED,
})

/** Any other provider would refuse the same request. */
const SAME_ELSEWHERE: ReadonlySet<RefusalClass> = new Set(['rejected', 'too-long', 'too-large', 'filtered'])

/** The client's names of fields that a provider's error may name. */
export type RequestFields = Pick<TurnRequest, 'inputField' | 'outputCapParam' | 'effortParam'>

/** The provider refused before any content, by its status or in its answer. `retryAfterMs`: from a header. */
export function refusedByProvider(
  error: ProviderError,
  fields: RequestFields,
  retryAfterMs = error.retryAfterMs,
): FailedLane {
  const kind = classifyRefusal(error)
  return {
    kind: 'failed',
    problem: problemBeforeContent(faultOfRefusal(kind, { error, fields, retryAfterMs })),
    failsOnEveryLane: SAME_ELSEWHERE.has(kind),
    mayBeBilled: false,
    verdict: verdictOfRefusal(kind, error, retryAfterMs),
    refusesSeals: refusesSeals(error),
    malformedOutput: error.malformedOutput,
  }
}

/** An error inside an answer has no status. */
const withoutStatus = (error: UpstreamError): ProviderError => ({ ...error, status: undefined, param: error.param })

export const refusedInAnswer = (error: UpstreamError, fields: RequestFields): FailedLane =>
  refusedByProvider(withoutStatus(error), fields)

export function faultInAnswer(inside: UpstreamError, fields: RequestFields): LaneFault {
  const error = withoutStatus(inside)
  return faultOfRefusal(classifyRefusal(error), { error, fields, retryAfterMs: error.retryAfterMs })
}

interface Refusal {
  readonly error: ProviderError
  readonly fields: RequestFields
  readonly retryAfterMs: number | undefined
}

/**
 * The first letter of words that agents take as a reason to retry. They search the whole message, inside longer words and numbers
 * too ("Unterminated", 150000), so a quote breaks these words and stays readable: `t-imeout`, `15_0000`.
 */
const RETRY_WORDS =
  /(?=overloaded|high demand|rate.?limit|too many requests|429|50[0234]|52[04]|service.?unavailable|server.?error|internal.?error|provider.?returned.?error|network.?error|connection.?(?:error|refused|lost)|other side closed|fetch failed|getaddrinfo|enotfound|eai_again|upstream.?connect|reset before headers|socket hang up|socket connection was closed|timed?.?out|terminated|websocket.?(?:closed|error)|ended (?:without|before)|http2 request did not|retry delay|resource.?exhausted|retry(?:ing)? (?:your request|upstream)|try (?:your request )?again|send (?:it|the request) again)./gi

function quoting({ message }: ProviderError): { readonly quote?: string } {
  if (message === '') return {}
  const line = oneLine(message).replace(RETRY_WORDS, (first) => `${first}${/\d/.test(first) ? '_' : '-'}`)
  return { quote: `The provider says: ${line}` }
}

/**
 * What a provider's error status does, for example a 429: `classifyRefusal` names it `throttled` (or `credential`, if the
 * provider's account has no quota). `verdictOfRefusal` opens the lane's circuit as `busy` for its Retry-After, else for a second
 * that doubles to 30 s (`BUSY` in `routing/circuit-breaker.ts`). `attempt-lanes.ts` fails over to the next lane; with none left the
 * request may wait for one (`waitForLane`). Three attempts and the retry budget (`routing/retry-budget.ts`) bound this. If every lane
 * failed with this code, the client gets `upstream_busy`, a 429 with Retry-After; mixed failures give `server_is_overloaded`
 * (`commonProblem`). Nothing is charged.
 */
function faultOfRefusal(kind: RefusalClass, { error, fields, retryAfterMs }: Refusal): LaneFault {
  switch (kind) {
    case 'too-long': {
      const what =
        "The input exceeds the context window: it is longer than the model's maximum context length. Send less."
      return { code: 'context_length_exceeded', what, ...quoting(error), param: fields.inputField }
    }
    case 'too-large':
      return { code: 'request_too_large', what: 'The request is larger than the provider accepts. Send less.' }
    case 'filtered':
      return {
        code: FILTER_CODES.has(error.code) ? (error.code as ProblemCode) : 'content_filter',
        what: 'The provider refused the content of the request.',
        ...quoting(error),
      }
    case 'rejected':
    case 'unsupported-field': {
      const what = 'The provider refused the request.'
      return { code: 'upstream_rejected', what, ...quoting(error), param: clientField(error.param, fields) }
    }
    case 'throttled': {
      const retryAfterSeconds = wholeSeconds(Math.min(retryAfterMs ?? 1000, WAIT_MAX_MS))
      return {
        code: 'upstream_busy',
        what: 'The provider is limiting requests at the moment (rate limit).',
        retryAfterSeconds,
      }
    }
    case 'not-found':
      return misconfigured('The provider does not recognize the model or the address that this server requested')
    case 'credential': {
      const isUnpaid = /insufficient.?quota/i.test(`${error.code} ${error.type}`)
      const what = isUnpaid
        ? "This server's account at the provider has no quota left"
        : 'The provider refuses the credential or the account of this server'
      return { ...misconfigured(what), ...(isUnpaid ? { code: 'insufficient_quota' } : {}) }
    }
    case 'failed': {
      const { status } = error
      if (status === undefined) return overloadedFault('The provider failed with a server error.')
      const how = OVERLOADED_STATUS.has(status) ? 'is overloaded' : 'failed with a server error'
      return overloadedFault(`The provider ${how} (status ${status}).`)
    }
  }
}

/** Only the operator can fix it. */
const misconfigured = (what: string): LaneFault => ({
  code: 'provider_misconfigured',
  what: `${what}. Tell the operator of this server; requests for this model cannot be served until that is fixed.`,
})

const FILTER_CODES: ReadonlySet<unknown> = new Set(['invalid_prompt', 'bio_policy', 'cyber_policy'])
/** A Retry-After that comes with one of these is heeded. */
const OVERLOADED_STATUS: ReadonlySet<number> = new Set([503, 529])

export function faultOfFailure({ reason, expired }: UpstreamFailed): LaneFault {
  if (reason === 'timeout') return timeoutFault(expired)
  return overloadedFault(
    reason === 'broken-off' ? CONNECTION_BROKE : 'Connection error: the provider could not be reached.',
  )
}

export const CONNECTION_BROKE = 'Connection error: the connection to the provider broke.'

export function timeoutFault(phase: DeadlinePhase | undefined): LaneFault {
  const what = `The provider timed out${phase === undefined ? '' : ` (${phase})`}.`
  return { code: 'upstream_timeout', what, retryAfterSeconds: 1 }
}

/** `what` is meant for the operator; the client can only retry. */
export const invalidAnswer = (what: string): LaneFault =>
  overloadedFault(`Server error: the provider's answer is not valid: ${what}.`)

/** The same before any content. */
export const failedByAnswer = (what: string): FailedLane => ({
  ...failedLane(invalidAnswer(what)),
  brokenArguments: what === BROKEN_ARGUMENTS,
})

export const overloadedFault = (what: string): LaneFault => ({
  code: 'server_is_overloaded',
  what,
  retryAfterSeconds: 1,
})

/** The problem of a turn whose lanes have all failed. */
export function commonProblem(problems: readonly Problem[]): Problem {
  const [first] = problems
  const isCommon = first !== undefined && problems.every(({ code }) => code === first.code)
  return isCommon
    ? first
    : problemBeforeContent(
        overloadedFault('Server error: every provider of this model failed, not all for the same reason.'),
      )
}

/** The names of the input in all protocols, up to the first dot or bracket. */
const INPUT: ReadonlySet<string> = new Set(['messages', 'input', 'contents', 'system', 'systemInstruction'])
const OUTPUT_CAP =
  /^(?:max_tokens|max_completion_tokens|max_output_tokens|(?:generationConfig|generation_config)\.max(?:OutputTokens|_output_tokens))$/
const EFFORT =
  /^(?:reasoning_effort|reasoning(?:\.effort)?|thinking(?:\..*)?|output_config\.effort|(?:generationConfig|generation_config)\.thinking.*)$/

/** The field that a provider's error names, by the client's name. Anything that is not a plain field name is dropped. */
function clientField(
  param: string | undefined,
  { inputField, outputCapParam, effortParam }: RequestFields,
): string | null {
  if (param === undefined || !/^[\w.[\]-]{1,100}$/.test(param) || scrub(param) !== param) return null
  if (OUTPUT_CAP.test(param)) return outputCapParam
  if (EFFORT.test(param)) return effortParam
  const [head = ''] = param.split(/[.[]/)
  return INPUT.has(head) && head !== inputField ? inputField : param
}

/** Faults of the request say nothing about the lane. */
const REQUEST_FAULTS: ReadonlySet<RefusalClass> = new Set([
  'rejected',
  'too-long',
  'too-large',
  'filtered',
  'unsupported-field',
])

const FAILED: LaneVerdict = { kind: 'failed' }

/** One request above the limit of a minute: smaller ones may pass. */
const TOO_LARGE_FOR_LIMIT = /request (?:is )?too large/i
const ONLY_AFFORDS_LESS = /can only afford/i

/**
 * What a refusal means for the circuit breaker of the lane; undefined: nothing. A status or a code is certain. A message may
 * quote a client, so it counts as one failure.
 */
function verdictOfRefusal(
  kind: RefusalClass,
  error: ProviderError,
  retryAfterMs: number | undefined,
): LaneVerdict | undefined {
  if (REQUEST_FAULTS.has(kind)) return undefined
  if (!isCertain(error)) return FAILED
  const forMs = retryAfterMs === undefined ? undefined : Math.min(retryAfterMs, WAIT_MAX_MS)
  if (kind === 'throttled') {
    const isTooLargeForLimit = error.status === 413 || TOO_LARGE_FOR_LIMIT.test(error.message)
    return isTooLargeForLimit ? undefined : { kind: 'busy', forMs }
  }
  if (error.status !== undefined && OVERLOADED_STATUS.has(error.status)) return { kind: 'failed', forMs }
  // The status alone may be about this one request; together with a message it is certain.
  if (kind === 'not-found') return missesModel(error) ? { kind: 'locked-out', of: 'lane' } : FAILED
  // A smaller request may be affordable still.
  if (kind !== 'credential' || ONLY_AFFORDS_LESS.test(error.message)) return FAILED
  // A missing, wrong or unpaid credential is useless for every lane.
  if (error.status !== 403) return { kind: 'locked-out', of: 'credential' }
  // 403 may be about this model, and unless it names our account about this text: firewalls and filters send it too.
  return namesOurAccount(error) ? { kind: 'locked-out', of: 'lane' } : FAILED
}
