import { type Fields, isObject } from '../lib/is-object.ts'
import { hideSecrets } from '../lib/secret.ts'
import { readRetryDelay } from './read-retry-delay.ts'

/** What a provider said of a failure, in whatever shape. Inside an answer this is all there is. */
export interface UpstreamSaid {
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
}

/** A server may have the field in every chunk, with nothing in it. */
export const isError = (error: unknown): boolean =>
  error !== undefined && error !== null && error !== false && error !== ''

const NOTHING_SAID = 'The provider reported an error.'

/** An error inside an answer, which may be an object, a text, or nothing that could be read. */
export function readError(error: unknown): UpstreamSaid {
  if (typeof error === 'string') return { message: inBounds(error), code: undefined }
  const said = isObject(error) ? readErrorObject(error) : { message: '', code: undefined }
  return said.message === '' ? { ...said, message: NOTHING_SAID } : said
}

/** Providers spell errors in many ways; the shapes are theirs, whatever their wire. Empty words where there are none. */
export function readErrorObject(error: Fields): UpstreamSaid {
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

/** Hidden before the cut: half of a credential that is quoted back could not be told from other words. */
export const inBounds = (text: string): string => hideSecrets(text).slice(0, TEXT_MAX)

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

function messageOf({ message, error, detail, errors }: Fields, faults: readonly Fault[]): string | undefined {
  const [first] = Array.isArray(errors) ? errors : []
  const inFaults = faults.map(({ path, says }) => (path === '' ? says : `${path}: ${says}`)).join('; ')
  const inDetail = isObject(detail) ? detail.message : detail
  return [message, error, inDetail, inFaults, isObject(first) ? first.message : first].find(
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
