import { isUtf8 } from 'node:buffer'
import { tryParse } from './try-parse.ts'

const BACKSLASH = 0x5c

/** A JSON string as it would be written here, and how many bytes its text has. */
export interface RewrittenString {
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
