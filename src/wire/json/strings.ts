import { isUtf8 } from 'node:buffer'
import { tryParse } from './try-parse.ts'

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

/** A JSON string as it would be written here, and how many bytes its text has. */
interface RewrittenString {
  /** Without its quotes, a character for each byte of UTF-8; undefined where it stands as it would be written. */
  readonly written: string | undefined
  readonly textBytes: number
}

/** The string whose inside is from `from` to `end`, between its quotes; undefined when it is no valid JSON or UTF-8. */
export function rewriteString(bytes: Buffer, from: number, end: number): RewrittenString | undefined {
  const inside = bytes.subarray(from, end)
  if (!isUtf8(inside)) return undefined
  if (inside.indexOf(BACKSLASH) === -1) return { written: undefined, textBytes: end - from }
  const text = tryParse(bytes.toString('utf8', from - 1, end + 1))
  if (typeof text !== 'string') return undefined
  return { written: latin1OfText(JSON.stringify(text).slice(1, -1)), textBytes: Buffer.byteLength(text) }
}

/** Text as a string that has a character for each of its bytes of UTF-8: joined as it is, and made bytes at once. */
export const latin1OfText = (text: string): string => Buffer.from(text).toString('latin1')

/** The text of a JSON string whose inside was written so. */
export function textOfLatin1(inside: string): string {
  const text = Buffer.from(inside, 'latin1').toString('utf8')
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
}
