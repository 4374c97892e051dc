import { hideSecrets } from '../../lib/secret.ts'
import { withoutControls } from '../../lib/text.ts'
import { type Fields, isObject } from '../../lib/types.ts'
import { tryParse } from '../json/strings.ts'

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
