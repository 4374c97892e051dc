import { hideSecrets } from '../../lib/secret.ts'
import { withoutControls } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import { tryParse } from '../json/bytes.ts'

/** What a provider said of a failure, in whatever shape. Inside an answer this is all there is. */
export interface UpstreamError {
  readonly message: string
  /** The most telling word of it: Google's reason, a code, a status in words, a type. A number only where it has no word. */
  readonly code: string | undefined
  /** The family of the code, where the provider names both. */
  readonly type?: string
  /** The status that the error itself names by number, where its code is a word. */
  readonly number?: number
  /** Where in the request it sees the fault. */
  readonly param?: string | undefined
  /** How long it asks to be left alone, where it says so in its words and not in a header. */
  readonly retryAfterMs?: number
  /** The model slipped, as with a malformed call: the same request usually succeeds when sent once more. */
  readonly slipped?: boolean
}

/** A server may have the field in every chunk, with nothing in it. */
export const isError = (error: unknown): boolean =>
  error !== undefined && error !== null && error !== false && error !== ''

const NOTHING_SAID = 'The provider reported an error.'

/** An error inside an answer, which may be an object, a text, or nothing that could be read. */
export function readError(error: unknown): UpstreamError {
  if (typeof error === 'string') return { message: inBounds(error), code: undefined }
  const said = isObject(error) ? readErrorObject(error) : { message: '', code: undefined }
  return said.message === '' ? { ...said, message: NOTHING_SAID } : said
}

/** Providers spell errors in many ways; the shapes are theirs, whatever their wire. Empty words where there are none. */
function readErrorObject(error: Fields): UpstreamError {
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

/**
 * Secrets are hidden behind the removal of controls, which could stand between their letters, and before the cut: half of a
 * credential that is quoted back could not be told from other words.
 */
const inBounds = (text: string): string => hideSecrets(withoutControls(text)).slice(0, TEXT_MAX)

/** What FastAPI says of one place in the body. What stood there is in it, too, and is nobody's business. */
interface Fault {
  readonly path: string
  readonly says: string
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
      says: typeof msg === 'string' ? msg : '',
      kind: wordOf(type),
    }))
}

/** A place as one word; `body` is where all of them begin. */
const pathOf = (loc: unknown): string =>
  (Array.isArray(loc) ? loc : [loc])
    .filter((step) => typeof step === 'number' || (typeof step === 'string' && step !== 'body'))
    .join('.')

function messageOf({ message, Message, error, detail, errors }: Fields, faults: readonly Fault[]): string | undefined {
  const [first] = Array.isArray(errors) ? errors : []
  const inFaults = faults.map(({ path, says }) => (path === '' ? says : `${path}: ${says}`)).join('; ')
  const inDetail = isObject(detail) ? detail.message : detail
  // AWS uses both spellings.
  return [message, Message, error, inDetail, inFaults, isObject(first) ? first.message : first].find(
    (candidate): candidate is string => typeof candidate === 'string' && candidate !== '',
  )
}

/** The most telling word first, then its family where that is another one. */
function wordsOf({ code, status, type, details }: Fields, faults: readonly Fault[]): readonly (string | undefined)[] {
  const words = [reasonOf(details), inWords(code), statusWord(status), faults[0]?.kind, inWords(type), wordOf(code)]
  const family = [inWords(type), statusWord(status)].find((word) => word !== undefined)
  const telling = words.find((word) => word !== undefined)
  return [telling, family === telling ? undefined : family]
}

/** Google says in a detail what its code is too general for: a wrong key is an argument that is not valid. */
function reasonOf(details: unknown): string | undefined {
  const told = Array.isArray(details) ? details.find((detail) => isObject(detail) && isText(detail.reason)) : undefined
  return isObject(told) ? wordOf(told.reason) : undefined
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : typeof value === 'number' ? String(value) : undefined

const inWords = (value: unknown): string | undefined => {
  const word = typeof value === 'string' ? wordOf(value) : undefined
  return word === undefined || /^\d+$/.test(word) ? undefined : word
}

/** Google's, and no answer's `completed`. */
const statusWord = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[A-Z_]+$/.test(value) ? value : undefined

/** A status by number, however it is written. */
export const statusOf = (value: unknown): number | undefined => {
  const word = wordOf(value)
  return word !== undefined && /^[45]\d\d$/.test(word) ? Number(word) : undefined
}

/** What a provider said when it refused, as far as it can be made out. None of it goes to the client as it is. */
export interface ProviderError extends UpstreamError {
  /** Undefined for an error inside an answer. */
  readonly status: number | undefined
  readonly param: string | undefined
}

/** A body may be any of the shapes that servers use, HTML, or nothing. */
export function readProviderError(status: number | undefined, body: Buffer): ProviderError {
  const text = body.toString('utf8')
  const said = readBody(tryParse(text)) ?? { message: plainText(text), code: undefined }
  return { ...said, status, param: said.param }
}

/** An error may stand in an object of its own, at the top, or (Google, asked for a stream) in a list. */
function readBody(parsed: unknown): UpstreamError | undefined {
  const [body] = Array.isArray(parsed) ? parsed : [parsed]
  return isObject(body) ? readErrorObject(isObject(body.error) ? body.error : body) : undefined
}

const plainText = (text: string): string => (text.trimStart().startsWith('<') ? '' : inBounds(text.trim()))

/**
 * How long a provider asks to be left alone, from the body of its refusal: Google tells it nowhere else, in a detail of its
 * own kind and in its words; others say it in words only. Milliseconds; undefined where nothing is said.
 */
function readRetryDelay(details: unknown, message: string): number | undefined {
  const told = (Array.isArray(details) ? details : []).map((detail) =>
    isObject(detail) && typeof detail.retryDelay === 'string' ? inWhole(detail.retryDelay) : undefined,
  )
  return told.find((wait) => wait !== undefined) ?? inWhole(IN_WORDS.exec(message)?.[1] ?? '')
}

/** "Please try again in 1m12.5s", "Please retry in 37.4s", "try again in 20ms", "retry after 3 seconds". */
const IN_WORDS = /(?:try again|retry)(?: in| after) ((?:\d{1,9}(?:\.\d{1,9})?\s?(?:ms|seconds?|s|m|h)){1,3})(?![a-z])/i

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

function inWhole(written: string): number | undefined {
  const parts = [...written.matchAll(/(\d{1,9}(?:\.\d{1,9})?)\s?(ms|s|m|h)/gi)]
  const ms = parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (UNITS[unit.toLowerCase()] ?? 0), 0)
  return ms > 0 ? Math.ceil(ms) : undefined
}

/** What a refusal means for the turn. */
export type RefusalClass =
  /** The request is at fault, whoever is asked. */
  | 'rejected'
  | 'too-long'
  /** Its bytes are more than the provider takes in. */
  | 'too-large'
  /** This server does not take one field, or its model cannot do one thing: without it, or elsewhere, it may be fine. */
  | 'unsupported-field'
  | 'filtered'
  | 'not-found'
  /** Our credential or our bill with the provider: nothing that the client could mend. */
  | 'credential'
  | 'throttled'
  | 'failed'

/** What a refusal of a class looks like; what a row does not say may be anything. */
interface Sign {
  readonly means: RefusalClass
  readonly status?: readonly number[]
  /** Its code, or the family of it. */
  readonly word?: RegExp
  /** Anything that it says in its own words, its code included. */
  readonly says?: RegExp
  readonly refusesField?: true
}

const TOO_LONG =
  /context.?length|maximum context|too many tokens|(?:prompt|input) is too long|max_model_len|exceeds? the (?:model|context)|exceeds? context limit|context.?size|exceeds the maximum number of tokens|maximum prompt length|model token limit|tokens \+ `` must be|range of input length|prompt token count of \d+ exceeds|prompt_tokens_exceeded/i
const THROTTLED = /rate.?limit|too.?many.?requests|slow.?down|throttl|resource.?exhausted/i
/** In the words of an error: an account without money, over its own limits, in the wrong country, or with a wrong key. */
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
/** The model cannot do what is asked. Another one that stands behind the same id may. */
const INCAPABLE =
  /(?:is|are) not (?:enabled|supported|available) (?:for|by|with|on|in) (?:this|the) model|not enabled for models\/|(?:model|models\/\S{1,100}|"") (?:does|do) not support/i
/** OpenRouter says with 404 that it has the model, and nobody there who serves it with what this request asks for. */
const NO_ENDPOINT_CAN = /no endpoints found that (?:support|can handle)/i
/** The model, the deployment or the address is not there. Whatever else is missing, this one request has asked for. */
const MODEL_MISSING =
  /(?:model|deployment)_?not_?found|(?:no such|unknown|invalid) (?:model|deployment)|\bnot_found_error model: |\b(?:model|deployment)s?\b(?:[^.]|\.(?=\S)){0,200}(?:not exist|not found|not be found)|no endpoints found for|(?:invalid|unknown)(?: request)? url|page not found|cannot post/i

/** Nothing of it is known. */
const UNKNOWN: Sign = { means: 'failed' }

/** The first that fits. A status says more than words; of words a code says more than a sentence, which may quote the client. */
const REFUSED: readonly Sign[] = [
  { means: 'filtered', status: [401, 402, 403], says: FILTERED },
  { means: 'credential', status: [401, 402, 403, 407] },
  { means: 'credential', status: [429], word: OUR_ACCOUNT_WORD },
  { means: 'throttled', status: [429] },
  // Asking again, or somebody else, may do: it took too long, was too early, met another one, or was given up.
  { means: 'failed', status: [408, 409, 425, 499] },
  // Groq says 413 for what is more than its limit of a minute.
  { means: 'throttled', word: THROTTLED },
  // Anthropic and Google refuse with 400 what is wrong with our account.
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

/** An error inside an answer has no status: its words are all there is, and a number where it names one. */
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

/** What a refusal means. What it quotes of a request is never among its words. */
export const classifyRefusal = (error: ProviderError): RefusalClass =>
  isServerFault(error) ? 'failed' : (signOf(error)?.means ?? 'failed')

/**
 * Whether a status or the provider's own code says so. Else only a sentence did, which a client may have had a hand in: that
 * is good enough for its own turn, and nothing may be concluded from it about the lane, which serves everybody.
 */
export function isCertain(error: ProviderError): boolean {
  if (isServerFault(error)) return true
  const sign = signOf(error)
  if (sign === undefined || sign === UNKNOWN) return false
  return fits(sign, { ...error, message: '' })
}

/** Whether the provider's own code says that it is about us: a status alone may be about a text. */
export const namesOurAccount = ({ code = '', type = '' }: ProviderError): boolean =>
  [code, type].some((word) => OUR_ACCOUNT_WORD.test(word))

/** Whether what is not found is not there for anybody: a 404 alone may be about a file or an item that a client has named. */
export const missesModel = ({ status, code = '', type = '', message }: ProviderError): boolean =>
  (status !== undefined && status !== 404) ||
  [code, type].some((word) => MODEL_MISSING.test(`${word} ${withoutQuotes(message)}`))

/** 5xx is 5xx, whatever the page says that comes with it. */
const isServerFault = ({ status }: ProviderError): boolean => status !== undefined && status >= 500

const signOf = (error: ProviderError): Sign | undefined =>
  (error.status === undefined ? REFUSED_INSIDE : REFUSED).find((sign) => fits(sign, error))

function fits(sign: Sign, error: ProviderError): boolean {
  const { status, code = '', type = '', number, message } = error
  const standing = status ?? number ?? statusOf(code)
  return (
    (sign.status === undefined || (standing !== undefined && sign.status.includes(standing))) &&
    (sign.word === undefined || [code, type].some((word) => sign.word?.test(word))) &&
    (sign.says === undefined || sign.says.test(`${code} ${withoutQuotes(message)}`)) &&
    (sign.refusesField === undefined || refusedField(error) !== undefined)
  )
}

/**
 * What of a request a server complains about, by the names that its own protocol has for it: top-level fields, and of
 * Gemini those inside of `generationConfig`. Writers leave out what `withoutFields` of their dialect names.
 */
interface RefusedField {
  /** More than one where the same words come from servers that call it differently, or for several at once. */
  readonly names: readonly string[]
  /** Not the field is refused but what stood in it: the next request's may be fine. */
  readonly onlyValue: boolean
}

export function refusedField({ code, param, message }: ProviderError): RefusedField | undefined {
  const named = namedIn(withoutQuotes(message, NAME))
  const isRefusal = code !== undefined && /^(?:unsupported_parameter|unsupported_value|extra_forbidden)$/.test(code)
  if (named === undefined && !isRefusal) return undefined
  const onlyValue = code === 'unsupported_value' || (named?.onlyValue ?? false)
  const ownWord = param === undefined || param === '' ? undefined : namesOf(param)
  return { names: ownWord ?? named?.names ?? [], onlyValue }
}

/** A field's name or the way to it. What else a provider quotes a client may have written, so that it names a field. */
const NAME = /^[\w.[\]-]{1,200}$/

interface Complaint {
  readonly pattern: RegExp
  /** The fields that it means; where none are named, the first group of the pattern is a path to one. */
  readonly names?: readonly string[]
  readonly onlyValue?: true
  /** It is a name inside of Gemini's `generationConfig`. */
  readonly isSetting?: true
}

/** By whatever name it goes in a protocol. */
const THINKING = ['thinking', 'thinkingConfig', 'reasoning_effort', 'reasoning']
const PENALTIES = ['presencePenalty', 'frequencyPenalty', 'presence_penalty', 'frequency_penalty']

/** The first that fits. Words of real servers; what they quote of a request is never a field of it. */
const COMPLAINTS: readonly Complaint[] = [
  // A model that does not reason has nothing to seal, and its server says so without naming the field.
  { pattern: /encrypted content is not supported/i, names: ['include'] },
  // Google: the name, and in which object it stood.
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
  {
    pattern: /\bbudget -?\d{1,9} is invalid|only works in thinking mode/i,
    names: ['thinkingConfig'],
    onlyValue: true,
  },
  { pattern: /penalty is not (?:enabled|supported)/i, names: PENALTIES },
  { pattern: /logprobs is not (?:enabled|supported)/i, names: ['responseLogprobs', 'logprobs', 'top_logprobs'] },
  // Anthropic: the path, and what is wrong there. A thought that is asked for in another way may be fine.
  { pattern: /^([a-z_]{1,60})(?:\.[\w.-]{1,200})?: extra inputs are not permitted/i },
  { pattern: /^(thinking)(?:\.[\w.-]{1,100})?: /i, onlyValue: true },
  { pattern: /^(output_config)\.effort: /i, onlyValue: true },
  { pattern: /^[`'"]?(thinking)\.[\w.-]{1,100}[`'"]? (?:is|are) (?:not|un)/i, onlyValue: true },
  { pattern: /does not support effort level/i, names: ['output_config'], onlyValue: true },
  { pattern: /does not support (?:the )?[`'"]?effort[`'"]?(?: parameter)?/i, names: ['output_config'] },
  { pattern: /[`'"]([a-z_]{1,60})[`'"] (?:is|are) (?:deprecated|not supported|not allowed|no longer supported)\b/i },
  // OpenAI, and who speaks like it.
  { pattern: /unsupported value[: ]{1,3}['"`]([a-z_]+(?:\.[a-z_]+)?)['"`]/i, onlyValue: true },
  {
    pattern:
      /(?:unsupported|unrecognized|unknown|unexpected|extra)[^'"`:]{0,100}(?:parameter|argument|field|input|value)?s?[^'"`]{0,30}['"`]([a-z_]+(?:\.[a-z_]+)?)['"`]/i,
  },
]

/** It is about what is said to the model, or a tool: that is no field of its own. */
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
 * The field that a path leads into. What Gemini has in an object of settings is a field by itself, and goes by the name that
 * other protocols have for it as well: `topP` is `top_p` to whoever asks for it.
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
  // Nobody else has it.
  thinkingConfig: 'thinkingConfig',
}

/** Google names in one spelling what it was sent in the other. */
const camelled = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const snaked = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/**
 * It complains about sealed reasoning that it was given back: it cannot open it any more, or not in this place. Without it
 * the same request may be fine.
 */
export const refusesSeals = ({ status, code = '', param = '', message }: ProviderError): boolean =>
  (status === undefined || status === 400 || status === 422) && SEALS_REFUSED.test(`${code} ${param} ${message}`)

/** OpenAI's words, Google's, and Anthropic's: for a seal that it cannot read, a thought that is missing, one that was changed. */
const SEALS_REFUSED =
  /encrypted.?content|thought.?signature|signature.{0,60}(?:thinking|reasoning)|(?:thinking|reasoning).{0,60}(?:signature|without its required)|must start with a thinking block|redacted_thinking/i

/**
 * It does not know what asks it to make a conversation short. A word about something else in the request says nothing about
 * the server, only about that request.
 */
export const refusesTrigger = ({ code = '', param, message }: ProviderError): boolean =>
  /compaction/i.test(`${code} ${message}`) && (param === undefined || /^(input(\[\d+\])?(\.type)?)?$/.test(param))

/**
 * A provider's sentence without what it quotes, which may be anything that a client has written: of a quotation only its
 * marks stay. Echoes of a value, as Pydantic and FastAPI print them, go as a whole. What an error carries as the message of
 * another one is a provider's own sentence, and stays, and so does a quotation that `keeps` fits.
 *
 * A server that quotes without escaping lets its client end the quotation, and say more. So no sentence proves anything:
 * see `isCertain` in `classify-refusal.ts`.
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

/** Inside of its marks, with what is escaped there. An apostrophe inside of a word is no mark. */
const IN_DOUBLE = String.raw`(?:[^"\\]|\\.)*`
const IN_SINGLE = String.raw`(?:[^'\\]|\\.|'(?=\w))*`

/** The first that begins is taken, to its end; a quotation that was cut off goes on to the end of the message. */
const QUOTED = new RegExp(
  [
    // Whatever follows is the client's: Pydantic says where it ends, a list of FastAPI does not.
    String.raw`\binput_value=.*?(?:, input_type=\w+|$)`,
    String.raw`['"]input['"]\s*:.*$`,
    String.raw`(?:"(?:message|msg)"|'(?:message|msg)')\s*:\s*(?:"(${IN_DOUBLE})"|'(${IN_SINGLE})'(?!\w))`,
    String.raw`"${IN_DOUBLE}(?:"|\\?$)`,
    // What stands behind a letter is an apostrophe.
    String.raw`(?<!\w)'${IN_SINGLE}(?:'|\\?$)`,
    '`[^`]*(?:`|$)',
    '«[^»]*(?:»|$)',
    '“[^”]*(?:”|$)',
    '‘[^’]*(?:’|$)',
  ].join('|'),
  'gs',
)
