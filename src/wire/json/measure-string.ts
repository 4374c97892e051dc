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
