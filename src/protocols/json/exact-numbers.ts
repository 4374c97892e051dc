import { randomBytes } from 'node:crypto'
import { skipString } from './bytes.ts'

/**
 * JSON.parse and JSON.stringify change `1.10` and 9007199254740993. A number that has to keep its digits passes through both
 * as a string with this random prefix, which no client or provider can guess.
 */
const MARK = `n${randomBytes(9).toString('base64url')}:`
const MARK_BYTES = Buffer.from(MARK)
const QUOTES = 2
/** In one text: more than any request has. Later numbers keep only their value. */
const MARKS_MAX = 50_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const inNumber = new Uint8Array(256)
for (const byte of Buffer.from('-+.0123456789eE')) inNumber[byte] = 1

/** JSON in which each number that JavaScript might change is a marked string; the same bytes where there is none. */
export function markNumbers(json: Buffer): Buffer {
  const places = placesOfOddNumbers(json)
  if (places.length === 0) return json
  const marked = Buffer.allocUnsafe(json.length + places.length * (MARK_BYTES.length + QUOTES))
  let copied = 0
  let to = 0
  for (const { start, end } of places) {
    to += json.copy(marked, to, copied, start)
    marked[to++] = QUOTE
    to += MARK_BYTES.copy(marked, to)
    to += json.copy(marked, to, start, end)
    marked[to++] = QUOTE
    copied = end
  }
  json.copy(marked, to, copied)
  return marked
}

/** Turns marked strings back into numbers, including those in JSON inside of a string. */
export function restoreNumbers(json: Buffer): Buffer {
  let mark = json.indexOf(MARK_BYTES)
  if (mark < 0) return json
  const restored = Buffer.allocUnsafe(json.length)
  let copied = 0
  let to = 0
  for (; mark >= 0; mark = json.indexOf(MARK_BYTES, copied)) {
    const digits = mark + MARK_BYTES.length
    const end = endOfNumber(json, digits)
    to += json.copy(restored, to, copied, beforeQuote(json, mark))
    to += json.copy(restored, to, digits, end)
    copied = behindQuote(json, end)
  }
  to += json.copy(restored, to, copied)
  return restored.subarray(0, to)
}

/** `restoreNumbers` for a string. */
export const restoreNumbersIn = (json: string): string =>
  json.includes(MARK) ? restoreNumbers(Buffer.from(json)).toString('utf8') : json

export const isMarkedNumber = (value: unknown): value is string => typeof value === 'string' && value.startsWith(MARK)

interface NumberPlace {
  readonly start: number
  readonly end: number
}

function placesOfOddNumbers(json: Buffer): NumberPlace[] {
  const places: NumberPlace[] = []
  for (let at = 0; at < json.length && places.length < MARKS_MAX; ) {
    const byte = json[at]!
    if (byte === QUOTE) {
      at = skipString(json, at)
      // The parser will report it.
      if (at < 0) break
    } else if (byte === MINUS || isDigit(byte)) {
      const place = { start: at, end: endOfNumber(json, at) }
      if (isOdd(json, place)) places.push(place)
      at = place.end
    } else at += 1
  }
  return places
}

/** Up to fifteen digits survive. */
const SURE_DIGITS = 15
/** JavaScript writes 0.0000001 with an exponent. */
const SURE_ZEROS = 6

/** Whether JavaScript might write the number differently. */
function isOdd(json: Buffer, { start, end }: NumberPlace): boolean {
  let digits = 0
  let zeros = 0
  let hasPoint = false
  for (let at = json[start] === MINUS ? start + 1 : start; at < end; at += 1) {
    const byte = json[at]!
    if (byte === POINT) hasPoint = true
    else if (!isDigit(byte)) return isNumber(json, { start, end })
    else if (byte !== ZERO || digits > 0) digits += 1
    else if (hasPoint) zeros += 1
  }
  const isNegativeZero = json[start] === MINUS && digits === 0
  const endsInZero = hasPoint && json[end - 1] === ZERO
  if (digits <= SURE_DIGITS && zeros < SURE_ZEROS && !isNegativeZero && !endsInZero) return false
  return isNumber(json, { start, end })
}

const isNumber = (json: Buffer, { start, end }: NumberPlace): boolean =>
  NUMBER.test(json.toString('latin1', start, end))

const isDigit = (byte: number): boolean => byte >= ZERO && byte <= NINE

function endOfNumber(json: Buffer, start: number): number {
  let end = start
  while (end < json.length && inNumber[json[end]!] === 1) end += 1
  return end
}

/** The quote is escaped by backslashes when the JSON is inside a string. */
function beforeQuote(json: Buffer, mark: number): number {
  let at = mark - 1
  while (json[at - 1] === BACKSLASH) at -= 1
  return at
}

const behindQuote = (json: Buffer, end: number): number => json.indexOf(QUOTE, end) + 1
