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
import type { DeadlinePhase } from '../providers/deadlines.ts'
import { type UpstreamFailed, WAIT_MAX_MS } from '../providers/upstream-answer.ts'
import type { LaneVerdict } from '../routing/lane-health.ts'
import { oneLine, scrub } from '../telemetry/scrub.ts'
import type { FailedLane } from './attempt.ts'

/**
 * What became of a lane. How much of it a client has heard decides what was charged and what it can do, so that is worded
 * when it is told: `beforeContent` or `inStream`.
 */
export interface LaneFault {
  readonly code: ProblemCode
  readonly what: string
  /** In the provider's own words. */
  readonly quote?: string
  readonly param?: string | null
  /** Of what passes: how soon. */
  readonly retryAfterSeconds?: number
}

/** Nothing has gone out. Who has sent too much is told how to mend it, and of nothing else. */
function beforeContent({ code, what, quote, param = null, retryAfterSeconds }: LaneFault): Problem {
  const details = { source: 'upstream', param } as const
  if (retryAfterSeconds !== undefined) return retryableProblem(code, what, { ...details, retryAfterSeconds })
  const money = code === 'context_length_exceeded' ? undefined : 'Nothing was charged.'
  return problem(told(code), sentences(what, money, quote), details)
}

/** `insufficient_quota` is sent only inside a stream. Before it, an unpaid provider is one more thing for the operator to fix. */
const told = (code: ProblemCode): ProblemCode => (code === 'insufficient_quota' ? 'provider_misconfigured' : code)

/** Codes that change inside a stream, because agents react to them in another way once they have received something. */
const IN_STREAM: Partial<Record<ProblemCode, ProblemCode>> = {
  server_is_overloaded: 'upstream_error',
  upstream_busy: 'rate_limit_exceeded',
}

/** After content an answer can be neither free nor tried elsewhere. A final failure does not suggest a retry. */
export function inStream({ code, what, quote, param = null, retryAfterSeconds }: LaneFault): Problem {
  const said = IN_STREAM[code] ?? code
  const details = { source: 'upstream', param } as const
  const first = 'What was received so far is charged'
  return retryAfterSeconds === undefined
    ? problem(said, sentences(what, quote, `${first}.`), details)
    : retryableProblem(said, what, { ...details, first, retryAfterSeconds })
}

const sentences = (...said: readonly (string | undefined)[]): string =>
  said.filter((sentence) => sentence !== undefined).join(' ')

/** A lane that has failed, after the request had gone out to it. */
const laneFailed = (said: Problem): FailedLane => ({
  kind: 'failed',
  problem: said,
  sameElsewhere: false,
  mayBeBilled: true,
  verdict: { kind: 'failed' },
})

export const failed = (fault: LaneFault): FailedLane => laneFailed(beforeContent(fault))

/** Any other provider would say the same. */
const SAME_ELSEWHERE: ReadonlySet<RefusalClass> = new Set(['rejected', 'too-long', 'too-large', 'filtered'])

/** The client's names for the fields that a provider's error may name. */
export type RequestFields = Pick<TurnRequest, 'inputField' | 'outputCapParam' | 'effortParam'>

/** The provider said no before any content, by its status or in its answer. A header says better when to come back. */
export function refused(error: ProviderError, asked: RequestFields, retryAfterMs = error.retryAfterMs): FailedLane {
  const kind = classifyRefusal(error)
  return {
    kind: 'failed',
    problem: beforeContent(faultOfRefusal(kind, { error, asked, retryAfterMs })),
    sameElsewhere: SAME_ELSEWHERE.has(kind),
    mayBeBilled: false,
    verdict: verdictOfRefusal(kind, error, retryAfterMs),
    refusesSeals: refusesSeals(error),
    ...(error.slipped ? { slipped: true } : {}),
  }
}

/** An error inside an answer has no status: its words are all there is. */
const withoutStatus = (said: UpstreamError): ProviderError => ({ ...said, status: undefined, param: said.param })

export const refusedInside = (said: UpstreamError, asked: RequestFields): FailedLane =>
  refused(withoutStatus(said), asked)

export function faultInside(said: UpstreamError, asked: RequestFields): LaneFault {
  const error = withoutStatus(said)
  return faultOfRefusal(classifyRefusal(error), { error, asked, retryAfterMs: error.retryAfterMs })
}

interface Refusal {
  readonly error: ProviderError
  readonly asked: RequestFields
  readonly retryAfterMs: number | undefined
}

/**
 * The first letter of what agents take for a reason to ask again. They look for it anywhere in a message, inside of longer
 * words and numbers too ("Unterminated", 150000), so it is broken there and read all the same: `t-imeout`, `15_0000`.
 */
const RETRY_WORDS =
  /(?=overloaded|high demand|rate.?limit|too many requests|429|50[0234]|52[04]|service.?unavailable|server.?error|internal.?error|provider.?returned.?error|network.?error|connection.?(?:error|refused|lost)|other side closed|fetch failed|getaddrinfo|enotfound|eai_again|upstream.?connect|reset before headers|socket hang up|socket connection was closed|timed?.?out|terminated|websocket.?(?:closed|error)|ended (?:without|before)|http2 request did not|retry delay|resource.?exhausted|retry(?:ing)? (?:your request|upstream)|try (?:your request )?again|send (?:it|the request) again)./gi

const brokenUp = (line: string): string =>
  line.replace(RETRY_WORDS, (first) => `${first}${/\d/.test(first) ? '_' : '-'}`)

const quoting = ({ message }: ProviderError): { readonly quote?: string } =>
  message === '' ? {} : { quote: `The provider says: ${brokenUp(oneLine(message))}` }

/** What a client is told. */
function faultOfRefusal(kind: RefusalClass, { error, asked, retryAfterMs }: Refusal): LaneFault {
  switch (kind) {
    case 'too-long': {
      const what =
        "The input exceeds the context window: it is longer than the model's maximum context length. Send less."
      return { code: 'context_length_exceeded', what, ...quoting(error), param: asked.inputField }
    }
    case 'too-large':
      return { code: 'request_too_large', what: 'The request is larger than the provider takes. Send less.' }
    case 'filtered':
      return { code: filterCode(error), what: 'The provider refused the content of the request.', ...quoting(error) }
    case 'rejected':
    case 'unsupported-field': {
      const what = 'The provider refused the request.'
      return { code: 'upstream_rejected', what, ...quoting(error), param: clientField(error.param, asked) }
    }
    case 'throttled': {
      const retryAfterSeconds = wholeSeconds(Math.min(retryAfterMs ?? 1000, WAIT_MAX_MS))
      return {
        code: 'upstream_busy',
        what: 'The provider limits requests at the moment (rate limit).',
        retryAfterSeconds,
      }
    }
    case 'not-found':
      return misconfigured('The provider does not know the model or the address that this server asks it for')
    case 'credential': {
      const isUnpaid = /insufficient.?quota/i.test(`${error.code} ${error.type}`)
      const what = isUnpaid
        ? 'The account of this server with the provider has no quota left'
        : 'The provider refuses the credential or the account of this server'
      return { ...misconfigured(what), ...(isUnpaid ? { code: 'insufficient_quota' } : {}) }
    }
    case 'failed':
      return overloaded(failureWords(error.status))
  }
}

/** Only the operator can fix it. */
const misconfigured = (what: string): LaneFault => ({
  code: 'provider_misconfigured',
  what: `${what}. Tell the operator of this server; requests for this model cannot be served until that is fixed.`,
})

const FILTER_CODES: ReadonlySet<unknown> = new Set(['invalid_prompt', 'bio_policy', 'cyber_policy'])

const filterCode = ({ code }: ProviderError): ProblemCode =>
  FILTER_CODES.has(code) ? (code as ProblemCode) : 'content_filter'

const OVERLOADED_STATUS: ReadonlySet<unknown> = new Set([503, 529])

function failureWords(status: number | undefined): string {
  if (status === undefined) return 'The provider failed with a server error.'
  const how = OVERLOADED_STATUS.has(status) ? 'is overloaded' : 'failed with a server error'
  return `The provider ${how} (status ${status}).`
}

export function faultOfFailure({ reason, expired }: UpstreamFailed): LaneFault {
  if (reason === 'timeout') return timedOut(expired)
  return overloaded(reason === 'broken-off' ? CONNECTION_BROKE : 'Connection error: the provider could not be reached.')
}

export const CONNECTION_BROKE = 'Connection error: the connection to the provider broke.'

export function timedOut(phase: DeadlinePhase | undefined): LaneFault {
  const what = `The provider timed out${phase === undefined ? '' : ` (${phase})`}.`
  return { code: 'upstream_timeout', what, retryAfterSeconds: 1 }
}

/** `what` is meant for the operator; the client can only retry. */
export const invalidAnswer = (what: string): string => `Server error: the provider's answer is not valid: ${what}.`

export const overloaded = (what: string): LaneFault => ({ code: 'server_is_overloaded', what, retryAfterSeconds: 1 })

/** What is said when every lane was tried: the one answer they have in common, or that none could. */
export function commonProblem(problems: readonly Problem[]): Problem {
  const [first] = problems
  const isCommon = first !== undefined && problems.every(({ code }) => code === first.code)
  return isCommon
    ? first
    : beforeContent(overloaded('Every provider of this model is overloaded or failed with a server error.'))
}

/** What the protocols call the input, up to the first dot or bracket. */
const INPUT: ReadonlySet<string> = new Set(['messages', 'input', 'contents', 'system', 'systemInstruction'])
const OUTPUT_CAP =
  /^(?:max_tokens|max_completion_tokens|max_output_tokens|(?:generationConfig|generation_config)\.max(?:OutputTokens|_output_tokens))$/
const EFFORT =
  /^(?:reasoning_effort|reasoning(?:\.effort)?|thinking(?:\..*)?|output_config\.effort|(?:generationConfig|generation_config)\.thinking.*)$/

/**
 * The field that a provider's error names, under the name that the client sent it by. The client gets it verbatim, so anything
 * that is not a plain field name is dropped.
 */
function clientField(
  param: string | undefined,
  { inputField, outputCapParam, effortParam }: Pick<TurnRequest, 'inputField' | 'outputCapParam' | 'effortParam'>,
): string | null {
  if (param === undefined || !/^[\w.[\]-]{1,100}$/.test(param) || scrub(param) !== param) return null
  if (OUTPUT_CAP.test(param)) return outputCapParam
  if (EFFORT.test(param)) return effortParam
  const [head = ''] = param.split(/[.[]/)
  return INPUT.has(head) && head !== inputField ? inputField : param
}

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
function verdictOfRefusal(
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
