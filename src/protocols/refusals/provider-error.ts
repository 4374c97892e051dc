import { hideSecrets } from '../../lib/secret.ts'
import { withoutControls } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import { tryParse } from '../json/bytes.ts'

/** A provider's error, in any of its shapes. An error inside an answer has no more than this. */
export interface UpstreamError {
  readonly message: string
  /** The most specific code: Google's reason, a code, a status in words, a type. A number only where there is no word. */
  readonly code: string | undefined
  /** The family of the code, where the provider names both. */
  readonly type?: string
  /** The status number in the error, where its code is a word. */
  readonly number?: number
  /** The place of the fault in the request. */
  readonly param?: string | undefined
  /** The requested delay before a retry, where it is in the error and not in a header. */
  readonly retryAfterMs?: number
  /** The model wrote malformed output, such as an invalid tool call: the same request usually succeeds when sent once more. */
  readonly malformedOutput?: boolean
}

/** Some servers have the field in every chunk, empty. */
export const isError = (error: unknown): boolean =>
  error !== undefined && error !== null && error !== false && error !== ''

const NO_MESSAGE = 'The provider reported an error.'

/** Reads an error inside an answer, which may be an object, a text, or anything else. */
export function readError(error: unknown): UpstreamError {
  if (typeof error === 'string') return { message: inBounds(error), code: undefined }
  const read = isObject(error) ? readErrorObject(error) : { message: '', code: undefined }
  return read.message === '' ? { ...read, message: NO_MESSAGE } : read
}

/** An error in place of an answer, whose members stand at the top; undefined where nothing tells of one. */
export function readBareError(body: Fields): UpstreamError | undefined {
  const { object, detail, errors, message, code, status } = body
  const isBare =
    object === 'error' ||
    (isError(detail) && !isEmpty(detail)) ||
    (Array.isArray(errors) && !isEmpty(errors)) ||
    (isText(message) && ((isError(code) && Number(code) !== 0) || statusOf(status) !== undefined))
  return isBare || failureOfMiniMax(body) !== undefined ? readError(body) : undefined
}

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

/** MiniMax's codes in words: platform.minimax.io/docs/api-reference/errorcode. Any other is a fault of the server. */
const MINIMAX_CODES: Readonly<Record<number, string>> = {
  1002: 'rate_limit_exceeded',
  1004: 'authentication_error',
  1008: 'insufficient_quota',
  1026: 'content_filter',
  1027: 'content_filter',
  2049: 'invalid_api_key',
}

/** MiniMax answers with status 200 and has the error in a member of its own. */
function failureOfMiniMax({ base_resp: failure }: Fields): Fields | undefined {
  if (!isObject(failure) || typeof failure.status_code !== 'number' || failure.status_code === 0) return undefined
  return { message: failure.status_msg, code: MINIMAX_CODES[failure.status_code] ?? 'server_error' }
}

/** Providers have many shapes of errors, whatever their wire. The message is empty where there is none. */
function readErrorObject(received: Fields): UpstreamError {
  const error = failureOfMiniMax(received) ?? received
  const faults = faultsOf(error)
  const message = inBounds(messageOf(error, faults) ?? '')
  const [code, type] = wordsOf(error, faults)
  const number = statusOf(error.code) ?? statusOf(error.status)
  const param = wordOf(error.param) ?? faults[0]?.path
  const retryAfterMs = readRetryDelay(error.details, message)
  return {
    message,
    code,
    ...(type === undefined ? {} : { type }),
    ...(number === undefined || code === String(number) ? {} : { number }),
    ...(param === undefined ? {} : { param }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  }
}

const TEXT_MAX = 1000

/** Hides secrets after control characters are removed, which could split them, and before `slice`, which could keep half of one. */
const inBounds = (text: string): string => hideSecrets(withoutControls(text)).slice(0, TEXT_MAX)

/** FastAPI's error for one place in the body, without the value that stood there. */
interface Fault {
  readonly path: string
  readonly message: string
  readonly kind: string | undefined
}

const FAULTS_MAX = 3

/** `detail`, at the top or (Mistral) inside of the message. */
function faultsOf({ detail, message }: Fields): Fault[] {
  const list = Array.isArray(detail) ? detail : isObject(message) && Array.isArray(message.detail) ? message.detail : []
  return list
    .slice(0, FAULTS_MAX)
    .filter(isObject)
    .map(({ loc, msg, type }) => ({
      path: pathOf(loc),
      message: typeof msg === 'string' ? msg : '',
      kind: wordOf(type),
    }))
}

/** A place as one path; all of them begin at `body`. */
const pathOf = (loc: unknown): string =>
  (Array.isArray(loc) ? loc : [loc])
    .filter((step) => typeof step === 'number' || (typeof step === 'string' && step !== 'body'))
    .join('.')

function messageOf({ message, Message, error, detail, errors }: Fields, faults: readonly Fault[]): string | undefined {
  const [first] = Array.isArray(errors) ? errors : []
  const inFaults = faults.map(({ path, message: text }) => (path === '' ? text : `${path}: ${text}`)).join('; ')
  const inDetail = isObject(detail) ? detail.message : detail
  // AWS uses both spellings.
  return [message, Message, error, inDetail, inFaults, isObject(first) ? first.message : first].find(
    (candidate): candidate is string => typeof candidate === 'string' && candidate !== '',
  )
}

/** The most specific code first, then its family where that is another one. */
function wordsOf({ code, status, type, details }: Fields, faults: readonly Fault[]): readonly (string | undefined)[] {
  const words = [reasonOf(details), inWords(code), statusWord(status), faults[0]?.kind, inWords(type), wordOf(code)]
  const family = [inWords(type), statusWord(status)].find((word) => word !== undefined)
  const specific = words.find((word) => word !== undefined)
  return [specific, family === specific ? undefined : family]
}

/** Google's code is general, and a detail has the reason: a wrong key is an invalid argument. */
function reasonOf(details: unknown): string | undefined {
  const list = Array.isArray(details) ? details.filter(isObject) : []
  return wordOf(list.find(({ reason }) => isText(reason))?.reason)
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined

const inWords = (value: unknown): string | undefined => {
  const word = typeof value === 'string' ? wordOf(value) : undefined
  return word === undefined || /^\d+$/.test(word) ? undefined : word
}

/** Google's status, not the `completed` of an answer. */
const statusWord = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[A-Z_]+$/.test(value) ? value : undefined

/** An HTTP status, as a number or as text. */
const statusOf = (value: unknown): number | undefined => {
  const word = wordOf(value)
  return word !== undefined && /^[45]\d\d$/.test(word) ? Number(word) : undefined
}

/** A provider's refusal. None of it goes to the client as it is. */
export interface ProviderError extends UpstreamError {
  /** Undefined for an error inside an answer. */
  readonly status: number | undefined
  readonly param: string | undefined
}

/** Reads a refusal, whose body may be JSON in many shapes, HTML, or empty. */
export function readProviderError(status: number | undefined, body: Buffer): ProviderError {
  const text = body.toString('utf8')
  const read = readBody(tryParse(text)) ?? { message: plainText(text), code: undefined }
  return { ...read, status, param: read.param }
}

/** The error may be in `error`, at the top, or (Google, for a stream) in a list. */
function readBody(parsed: unknown): UpstreamError | undefined {
  const [body] = Array.isArray(parsed) ? parsed : [parsed]
  return isObject(body) ? readErrorObject(isObject(body.error) ? body.error : body) : undefined
}

const plainText = (text: string): string => (text.trimStart().startsWith('<') ? '' : inBounds(text.trim()))

/**
 * The delay before a retry, in milliseconds, from the body of a refusal: Google has it in a detail and in its message, others in
 * the message only. Undefined where there is none.
 */
function readRetryDelay(details: unknown, message: string): number | undefined {
  const delays = (Array.isArray(details) ? details : []).map((detail) =>
    isObject(detail) && typeof detail.retryDelay === 'string' ? durationMs(detail.retryDelay) : undefined,
  )
  return delays.find((delay) => delay !== undefined) ?? durationMs(RETRY_IN.exec(message)?.[1] ?? '')
}

/** "Please try again in 1m12.5s", "Please retry in 37.4s", "try again in 20ms", "retry after 3 seconds". */
const RETRY_IN = /(?:try again|retry)(?: in| after) ((?:\d{1,9}(?:\.\d{1,9})?\s?(?:ms|seconds?|s|m|h)){1,3})(?![a-z])/i

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

function durationMs(written: string): number | undefined {
  const parts = [...written.matchAll(/(\d{1,9}(?:\.\d{1,9})?)\s?(ms|s|m|h)/gi)]
  const ms = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit.toLowerCase()] ?? 0), 0)
  return ms > 0 ? Math.ceil(ms) : undefined
}

/** The meaning of a refusal for the turn. */
export type RefusalClass =
  /** The request is at fault, at any provider. */
  | 'rejected'
  | 'too-long'
  /** The body is larger than the provider accepts. */
  | 'too-large'
  /** This server refuses one field, or its model lacks one capability: without it, or on another lane, the request may succeed. */
  | 'unsupported-field'
  | 'filtered'
  | 'not-found'
  /** Our credential or our bill with the provider: the client cannot fix it. */
  | 'credential'
  | 'throttled'
  | 'failed'

/** How a refusal of a class is recognised; absent members match anything. */
interface Sign {
  readonly means: RefusalClass
  readonly status?: readonly number[]
  /** Its code, or the family of it. */
  readonly word?: RegExp
  /** Its message without quotes, or its code. */
  readonly says?: RegExp
  readonly refusesField?: true
}

const TOO_LONG =
  /context.?length|maximum context|too many tokens|(?:prompt|input) is too long|max_model_len|exceeds? the (?:model|context)|exceeds? context limit|context.?size|exceeds the maximum number of tokens|maximum prompt length|model token limit|tokens \+ `` must be|range of input length|prompt token count of \d+ exceeds|prompt_tokens_exceeded/i
const THROTTLED = /rate.?limit|too.?many.?requests|slow.?down|throttl|resource.?exhausted/i
/** In a message: an account without money, over its own limits, in the wrong country, or with a wrong key. */
const OUR_ACCOUNT =
  /credit balance|api usage limits|(?:spend(?:ing)?|usage|budget|billing|monthly)[ _](?:limit|cap)s? (?:has been |have been |was |is )?(?:reached|exceeded)|insufficient.?(?:quota|balance|credits?|funds)|exceeded your current quota|(?:billing|payment)[^.]{0,30}(?:not active|not enabled|disabled|required)|enable billing|api.?key.{0,10}(?:not valid|invalid|expired|not found)|(?:invalid|incorrect).?api.?key|account is in good standing|user location is not supported/i
const OUR_ACCOUNT_WORD =
  /^(?:unauthenticated|unauthorized|forbidden|arrearage|access_denied|service_disabled|account_.*|consumer_.*|api_key_.*)$|permission_?(?:denied|error)|insufficient.?quota|billing|credit|payment|api.?key.?invalid|invalid.?api.?key|authentication/i
const FILTERED =
  /content.?filter|content_policy|moderation|responsibleai|invalid_prompt|(?:bio|cyber)_policy|prohibited_content/i
const NOT_FOUND_WORD = /not_?found/i
/** GitHub Copilot answers 400 where others answer 404: the model name is wrong, or the plan does not include the model. */
const NO_SUCH_MODEL = /^(?:model_not_supported|unsupported_api_for_model|model_not_available\w*)$/
const TOO_LARGE_WORD = /request_too_large|payload.?too.?large/i
const REJECTED_WORD =
  /invalid_request|invalid_argument|failed_precondition|out_of_range|bad.?request|^extra_forbidden$/i
const OVERLOADED = /overload|unavailable|capacity|server.?error|internal|timeout/i
/** The model lacks a capability. Another one behind the same id may have it. */
const INCAPABLE =
  /(?:is|are) not (?:enabled|supported|available) (?:for|by|with|on|in) (?:this|the) model|not enabled for models\/|(?:model|models\/\S{1,100}|"") (?:does|do) not support/i
/** OpenRouter answers 404 where no endpoint of the model has a capability that the request needs. */
const NO_ENDPOINT_CAN = /no endpoints found that (?:support|can handle)/i
/** The model, the deployment or the address does not exist. Anything else that is missing belongs to this one request. */
const MODEL_MISSING =
  /(?:model|deployment)_?not_?found|(?:no such|unknown|invalid) (?:model|deployment)|\bnot_found_error model: |\b(?:model|deployment)s?\b(?:[^.]|\.(?=\S)){0,200}(?:not exist|not found|not be found)|no endpoints found for|(?:invalid|unknown)(?: request)? url|page not found|cannot post/i

const UNKNOWN: Sign = { means: 'failed' }

/** The first match wins. A status is better evidence than a code, and a code than a message, which may quote the client. */
const REFUSED: readonly Sign[] = [
  { means: 'filtered', status: [401, 402, 403], says: FILTERED },
  { means: 'credential', status: [401, 402, 403, 407] },
  // What a 429 does from here on: `faultOfRefusal` in `gateway/upstream-errors.ts`.
  { means: 'credential', status: [429], word: OUR_ACCOUNT_WORD },
  { means: 'throttled', status: [429] },
  // A retry or a fallback may succeed: the request timed out, came too early, was in conflict, or was abandoned.
  { means: 'failed', status: [408, 409, 425, 499] },
  // Groq answers 413 to a request that exceeds its limit per minute.
  { means: 'throttled', word: THROTTLED },
  // Anthropic and Google answer 400 to problems of our account.
  { means: 'credential', says: OUR_ACCOUNT },
  { means: 'too-long', says: TOO_LONG },
  { means: 'unsupported-field', status: [404], says: NO_ENDPOINT_CAN },
  { means: 'not-found', status: [404, 405, 410] },
  { means: 'not-found', status: [400], word: NO_SUCH_MODEL },
  { means: 'unsupported-field', refusesField: true },
  { means: 'unsupported-field', status: [400, 422], says: INCAPABLE },
  { means: 'filtered', says: FILTERED },
  { means: 'credential', word: OUR_ACCOUNT_WORD },
  { means: 'too-large', status: [413] },
  { means: 'rejected', status: [400, 422] },
  UNKNOWN,
]

/** An error inside an answer has no status: only its code, its message, and maybe a number. */
const REFUSED_INSIDE: readonly Sign[] = [
  { means: 'too-long', says: TOO_LONG },
  { means: 'unsupported-field', refusesField: true },
  { means: 'filtered', says: FILTERED },
  { means: 'throttled', word: THROTTLED },
  { means: 'credential', word: OUR_ACCOUNT_WORD },
  { means: 'credential', says: OUR_ACCOUNT },
  { means: 'not-found', word: NOT_FOUND_WORD },
  { means: 'too-large', word: TOO_LARGE_WORD },
  { means: 'failed', word: OVERLOADED },
  { means: 'throttled', status: [429] },
  { means: 'credential', status: [401, 402, 403] },
  { means: 'rejected', word: REJECTED_WORD },
  { means: 'rejected', status: [400, 422] },
  { means: 'throttled', says: THROTTLED },
  UNKNOWN,
]

/** Classifies a refusal. Quotes of the request are ignored. */
export const classifyRefusal = (error: ProviderError): RefusalClass =>
  isServerFault(error) ? 'failed' : (signOf(error)?.means ?? 'failed')

/**
 * Whether a status or a code shows the class. A message alone may contain the client's text: it is good enough for the client's own
 * turn, and proves nothing about the lane, which serves all clients.
 */
export function isCertain(error: ProviderError): boolean {
  if (isServerFault(error)) return true
  const sign = signOf(error)
  if (sign === undefined || sign === UNKNOWN) return false
  return fits(sign, { ...error, message: '' })
}

/** Whether the code is about our account: a status alone may be about a text. */
export const namesOurAccount = ({ code = '', type = '' }: ProviderError): boolean =>
  [code, type].some((word) => OUR_ACCOUNT_WORD.test(word))

/** Whether the model is missing for all clients: a 404 alone may be about a file or an item that the client has named. */
export const missesModel = ({ status, code = '', type = '', message }: ProviderError): boolean =>
  (status !== undefined && status !== 404) ||
  [code, type].some((word) => MODEL_MISSING.test(`${word} ${withoutQuotes(message)}`))

/** 5xx is a server fault, whatever its body says. */
const isServerFault = ({ status }: ProviderError): boolean => status !== undefined && status >= 500

const signOf = (error: ProviderError): Sign | undefined =>
  (error.status === undefined ? REFUSED_INSIDE : REFUSED).find((sign) => fits(sign, error))

function fits(sign: Sign, error: ProviderError): boolean {
  const { status, code = '', type = '', number, message } = error
  const known = status ?? number ?? statusOf(code)
  return (
    (sign.status === undefined || (known !== undefined && sign.status.includes(known))) &&
    (sign.word === undefined || [code, type].some((word) => sign.word?.test(word))) &&
    (sign.says === undefined || sign.says.test(`${code} ${withoutQuotes(message)}`)) &&
    (sign.refusesField === undefined || refusedField(error) !== undefined)
  )
}

/**
 * The refused field, by the names of the server's own protocol: top-level fields, and for Gemini those inside `generationConfig`.
 * Writers leave out the `withoutFields` of their dialect.
 */
interface RefusedField {
  /** Several where servers with the same message have different names for it, or where the message means several fields. */
  readonly names: readonly string[]
  /** The server refuses the value, not the field: the next request may succeed. */
  readonly onlyValue: boolean
}

export function refusedField({ code, param, message }: ProviderError): RefusedField | undefined {
  const named = namedIn(withoutQuotes(message, NAME))
  const isRefusal = code !== undefined && /^(?:unsupported_parameter|unsupported_value|extra_forbidden)$/.test(code)
  if (named === undefined && !isRefusal) return undefined
  const onlyValue = code === 'unsupported_value' || (named?.onlyValue ?? false)
  const fromParam = param === undefined || param === '' ? undefined : namesOf(param)
  return { names: fromParam ?? named?.names ?? [], onlyValue }
}

/** A field's name or path. Other quotations may be the client's text, written to name a field. */
const NAME = /^[\w.[\]-]{1,200}$/

interface Complaint {
  readonly pattern: RegExp
  /** The refused fields; without names, the first group of the pattern is the path of one. */
  readonly names?: readonly string[]
  readonly onlyValue?: true
  /** A name inside Gemini's `generationConfig`. */
  readonly isSetting?: true
}

/** The names in all protocols. */
const THINKING = ['thinking', 'thinkingConfig', 'reasoning_effort', 'reasoning']
const PENALTIES = ['presencePenalty', 'frequencyPenalty', 'presence_penalty', 'frequency_penalty']

/** Messages of real servers; the first match wins. */
const COMPLAINTS: readonly Complaint[] = [
  // The server of a model without reasoning does not name the field.
  { pattern: /encrypted content is not supported/i, names: ['include'] },
  // Google: the name and its object.
  { pattern: /unknown name "(\w{1,60})" at 'generation_?config': cannot find field/i, isSetting: true },
  { pattern: /unknown name "(\w{1,60})": cannot find field/i },
  { pattern: /unknown name "\w{1,60}" at '([\w.[\]]{1,200})': cannot find field/i },
  { pattern: /invalid value at '(generation_?config\.thinking_?config)[\w.]{0,100}'/i, onlyValue: true },
  { pattern: /adaptive (thinking) is not/i, onlyValue: true },
  { pattern: /thinking (?:is not supported|is not enabled)|does not support thinking/i, names: THINKING },
  {
    pattern: /thinking.?(?:level|budget)\b.{0,60}(?:not supported|unsupported|invalid)/i,
    names: ['thinkingConfig'],
    onlyValue: true,
  },
  { pattern: /\bbudget -?\d{1,9} is invalid|only works in thinking mode/i, names: ['thinkingConfig'], onlyValue: true },
  { pattern: /penalty is not (?:enabled|supported)/i, names: PENALTIES },
  { pattern: /logprobs is not (?:enabled|supported)/i, names: ['responseLogprobs', 'logprobs', 'top_logprobs'] },
  // Anthropic: the path and the fault. Another value of `thinking` may succeed.
  { pattern: /^([a-z_]{1,60})(?:\.[\w.-]{1,200})?: extra inputs are not permitted/i },
  { pattern: /^(thinking)(?:\.[\w.-]{1,100})?: /i, onlyValue: true },
  { pattern: /^(output_config)\.effort: /i, onlyValue: true },
  { pattern: /^[`'"]?(thinking)\.[\w.-]{1,100}[`'"]? (?:is|are) (?:not|un)/i, onlyValue: true },
  { pattern: /does not support effort level/i, names: ['output_config'], onlyValue: true },
  { pattern: /does not support (?:the )?[`'"]?effort[`'"]?(?: parameter)?/i, names: ['output_config'] },
  { pattern: /[`'"]([a-z_]{1,60})[`'"] (?:is|are) (?:deprecated|not supported|not allowed|no longer supported)\b/i },
  // OpenAI and compatible servers.
  { pattern: /unsupported value[: ]{1,3}['"`]([a-z_]+(?:\.[a-z_]+)?)['"`]/i, onlyValue: true },
  {
    pattern:
      /(?:unsupported|unrecognized|unknown|unexpected|extra)[^'"`:]{0,100}(?:parameter|argument|field|input|value)?s?[^'"`]{0,30}['"`]([a-z_]+(?:\.[a-z_]+)?)['"`]/i,
  },
]

/** A fault in content or in a tool is not a fault of a field. */
const INSIDE_CONTENT = /^(?:messages|input|contents|tools|system)\b[\w.[\]-]{0,200}:/

function namedIn(message: string): RefusedField | undefined {
  if (INSIDE_CONTENT.test(message)) return undefined
  for (const { pattern, names, onlyValue = false, isSetting = false } of COMPLAINTS) {
    const found = pattern.exec(message)
    if (found !== null) return { names: names ?? namesOf(found[1] ?? '', isSetting), onlyValue }
  }
  return undefined
}

/**
 * The field at the start of a path. Gemini's members of `generationConfig` are fields of their own, and also get their name in
 * other protocols: `topP` is `top_p`.
 */
function namesOf(path: string, isSetting = false): readonly string[] {
  const [first = '', second] = path.split(/[.[\]]/)
  const setting = isSetting ? first : camelled(first) === 'generationConfig' ? second : undefined
  if (setting === undefined) return [first]
  const name = camelled(setting)
  return [...new Set([name, OTHER_NAMES[name] ?? snaked(name)])]
}

const OTHER_NAMES: Readonly<Record<string, string>> = {
  responseLogprobs: 'logprobs',
  logprobs: 'top_logprobs',
  // No other protocol has it.
  thinkingConfig: 'thinkingConfig',
}

/** Google may name a field in the other spelling than it was sent. */
const camelled = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snaked = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The provider cannot open sealed reasoning that it got back, or not in this place. Without it the same request may succeed. */
export const refusesSeals = ({ status, code = '', param = '', message }: ProviderError): boolean =>
  (status === undefined || status === 400 || status === 422) && SEALS_REFUSED.test(`${code} ${param} ${message}`)

/** OpenAI's, Google's and Anthropic's messages for a seal that cannot be read, and for thinking that is missing or changed. */
const SEALS_REFUSED =
  /encrypted.?content|thought.?signature|signature.{0,60}(?:thinking|reasoning)|(?:thinking|reasoning).{0,60}(?:signature|without its required)|must start with a thinking block|redacted_thinking/i

/**
 * The server does not know the compaction trigger. A message about another part of the request says nothing about the server.
 */
export const refusesTrigger = ({ code = '', param, message }: ProviderError): boolean =>
  /compaction/i.test(`${code} ${message}`) && (param === undefined || /^(input(\[\d+\])?(\.type)?)?$/.test(param))

/**
 * A provider's message without quotations, which may be the client's text: only the quotation marks stay. Echoed values, as
 * Pydantic and FastAPI print them, are removed as a whole. The message of an error inside the error is the provider's own, and
 * stays, and so does a quotation that matches `keeps`.
 *
 * Where a server quotes without escaping, a client can end the quotation and add text. So no message proves anything: see
 * `isCertain`.
 */
export function withoutQuotes(message: string, keeps?: RegExp): string {
  return message.replace(QUOTED, (stretch: string, ...found: (string | undefined)[]) => {
    const sentence = found[0] ?? found[1]
    if (sentence !== undefined) return ` ${withoutQuotes(sentence.replaceAll(/\\(.)/gs, '$1'), keeps)} `
    if (keeps?.test(stretch.slice(1, -1))) return stretch
    return MARKS[stretch.charAt(0)] ?? ' '
  })
}

const MARKS: Readonly<Record<string, string>> = { '"': '""', "'": "''", '`': '``', '«': '«»', '“': '“”', '‘': '‘’' }

/** The inside of a quotation, with escapes. An apostrophe inside a word is not a quotation mark. */
const IN_DOUBLE = String.raw`(?:[^"\\]|\\.)*`
const IN_SINGLE = String.raw`(?:[^'\\]|\\.|'(?=\w))*`

/** The quotation that begins first is removed to its end; one that was cut off ends with the message. */
const QUOTED = new RegExp(
  [
    // Everything behind these is the client's: Pydantic marks its end, a list of FastAPI does not.
    String.raw`\binput_value=.*?(?:, input_type=\w+|$)`,
    String.raw`['"]input['"]\s*:.*$`,
    String.raw`(?:"(?:message|msg)"|'(?:message|msg)')\s*:\s*(?:"(${IN_DOUBLE})"|'(${IN_SINGLE})'(?!\w))`,
    String.raw`"${IN_DOUBLE}(?:"|\\?$)`,
    // Behind a letter it is an apostrophe.
    String.raw`(?<!\w)'${IN_SINGLE}(?:'|\\?$)`,
    '`[^`]*(?:`|$)',
    '«[^»]*(?:»|$)',
    '“[^”]*(?:”|$)',
    '‘[^’]*(?:’|$)',
  ].join('|'),
  'gs',
)
