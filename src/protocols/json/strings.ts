import { isUtf8 } from 'node:buffer'
import { type JsonMember, memberBytes, type RequestBody, type TurnRequest } from '../../model/turn.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Where text ends that stands for itself, byte for byte: at a quote, an escape, a control character or beyond ASCII. */
export function endOfPlainText(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte < 0x20 || byte >= 0x80 || byte === QUOTE || byte === BACKSLASH) return at
  }
  return bytes.length
}

export const isQuote = (byte: number | undefined): boolean => byte === QUOTE

/** Where the closing quote of a JSON string stands whose first character is at `from`; -1 when it is not there. */
export function endOfString(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) return at
    if (byte < 0x20) return -1
    if (byte === BACKSLASH) at++
  }
  return -1
}

/**
 * How many bytes of UTF-8 the text of a JSON string holds, its quotes left out; undefined when it is not valid JSON or
 * not valid UTF-8.
 */
export function measureString(bytes: Buffer, from: number, end: number): number | undefined {
  let isPlain = true
  let isEscaped = false
  for (let at = from; at < end; at++) {
    const byte = bytes[at]!
    if (byte >= 0x80) isPlain = false
    else if (byte === BACKSLASH) isEscaped = true
  }
  if (!isPlain && !isUtf8(bytes.subarray(from, end))) return undefined
  if (!isEscaped) return end - from
  const text = tryParse(bytes.toString('utf8', from - 1, end + 1))
  return typeof text === 'string' ? Buffer.byteLength(text) : undefined
}

/** Below this length a byte loop finds the closing quote sooner than a call into native code does. */
const SHORT_STRING_BYTES = 32

/**
 * The offset behind the closing quote of a string, whatever is in it; -1 when it is not there. A stretch of bytes is walked,
 * then the next quote is searched natively; one that turns out to be escaped starts another stretch, so that text full of `\"`
 * does not pay a native call for each.
 */
export function skipString(bytes: Buffer, openingQuote: number): number {
  const end = bytes.length
  let offset = openingQuote + 1
  for (;;) {
    const stretchEnd = Math.min(offset + SHORT_STRING_BYTES, end)
    while (offset < stretchEnd) {
      const byte = bytes[offset]!
      if (byte === QUOTE) return offset + 1
      offset += byte === BACKSLASH ? 2 : 1
    }
    if (offset >= end) return -1
    const quote = bytes.indexOf(QUOTE, offset)
    if (quote < 0) return -1
    if (backslashesBefore(bytes, quote, offset) % 2 === 0) return quote + 1
    offset = quote + 1
  }
}

/** Looks back no further than `floor`, which is known not to be escaped: so no byte is looked at twice. */
function backslashesBefore(bytes: Buffer, quote: number, floor: number): number {
  let offset = quote
  while (offset > floor && bytes[offset - 1] === BACKSLASH) offset -= 1
  return quote - offset
}

const [COLON, NEWLINE, SPACES] = [0x3a, 0x0a, new Set([0x20, 0x09, 0x0d, 0x0a])]

/**
 * JSON without what servers send before it to keep a connection alive while it is made: blank lines (DeepSeek), and comments
 * as in a stream (OpenRouter). The rest is the same bytes.
 */
export function skipComments(body: Buffer): Buffer {
  let at = 0
  for (;;) {
    while (SPACES.has(body[at] ?? 0)) at++
    if (body[at] !== COLON) return body.subarray(at)
    const end = body.indexOf(NEWLINE, at)
    at = end === -1 ? body.length : end + 1
  }
}

/** The value that a text stands for; undefined, which is no JSON, when it stands for none. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A member as it goes to every lane: what was written anew at the door stands for what came, and what was dropped is not there. */
export function writtenMember(
  { body, rewritten }: Pick<TurnRequest, 'body' | 'rewritten'>,
  name: string,
): Buffer | undefined {
  const written = rewritten.get(name)
  return written === undefined ? memberBytes(body, name) : (written ?? undefined)
}

const NULL = Buffer.from('null')

/** Null is absent, everywhere: some clients write out every field that they know. Servers differ, and need not know. */
export const isNullMember = ({ bytes }: RequestBody, { valueStart, valueEnd }: JsonMember): boolean =>
  valueEnd - valueStart === NULL.length && bytes.compare(NULL, 0, NULL.length, valueStart, valueEnd) === 0
