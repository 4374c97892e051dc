import { isUtf8 } from 'node:buffer'
import type { RequestBody, TurnRequest } from '../../model/turn.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** The end of plain text: a quote, an escape, a control character or a byte beyond ASCII. */
export function endOfPlainText(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte < 0x20 || byte >= 0x80 || byte === QUOTE || byte === BACKSLASH) return at
  }
  return bytes.length
}

export const isQuote = (byte: number | undefined): boolean => byte === QUOTE

/** The closing quote of a JSON string whose first character is at `from`; -1 when it is not there. */
export function endOfString(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === QUOTE) return at
    if (byte < 0x20) return -1
    if (byte === BACKSLASH) at++
  }
  return -1
}

/** The UTF-8 bytes of the text of a JSON string, without its quotes; undefined when it is not valid JSON or not valid UTF-8. */
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
 * The offset behind the closing quote of a string; -1 when it is not there. A loop reads a stretch of bytes, then a native
 * search finds the next quote; an escaped one starts another stretch, so that text full of `\"` does not need a native call
 * for each.
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
    // Looks back no further than `offset`, which is not escaped, so no byte is read twice.
    let slashes = quote
    while (slashes > offset && bytes[slashes - 1] === BACKSLASH) slashes -= 1
    if ((quote - slashes) % 2 === 0) return quote + 1
    offset = quote + 1
  }
}

const SMALL_U = 0x75
/** What may follow a backslash, but for `u`. */
const escapes = new Uint8Array(256)
for (const byte of Buffer.from('"\\/bfnrt')) escapes[byte] = 1
const hexDigits = new Uint8Array(256)
for (const byte of Buffer.from('0123456789abcdefABCDEF')) hexDigits[byte] = 1

/** In each byte of a word, the highest bit. */
const HIGH_BITS = 0x80808080 | 0
const ONES = 0x01010101

/**
 * The same for a string that JSON.parse accepts, in bytes that are UTF-8; -1 if it would not, or if the string is longer than
 * `most`. Reads four bytes at a time up to a quote, an escape or a control character.
 */
export function skipValidString(bytes: Buffer, openingQuote: number, most = bytes.length): number {
  const shift = bytes.byteOffset & 3
  let words: Int32Array | undefined
  let offset = openingQuote + 1
  const wordsFrom = offset + SHORT_STRING_BYTES
  const last = Math.min(bytes.length, openingQuote + most)
  for (;;) {
    if (offset >= wordsFrom && ((offset + shift) & 3) === 0) {
      words ??= new Int32Array(bytes.buffer, bytes.byteOffset - shift, (bytes.length + shift) >> 2)
      let at = (offset + shift) >> 2
      // A byte of `x - 0x20…` or of `(x ^ c…) - 0x01…` sets its highest bit where the byte is below 0x20 or equal to c.
      for (const end = (last + shift) >> 2; at < end; at++) {
        const word = words[at]!
        const quotes = word ^ 0x22222222
        const slashes = word ^ 0x5c5c5c5c
        const found = ((word - 0x20202020) & ~word) | ((quotes - ONES) & ~quotes) | ((slashes - ONES) & ~slashes)
        if ((found & HIGH_BITS) !== 0) break
      }
      offset = (at << 2) - shift
    }
    const byte = bytes[offset]
    if (byte === QUOTE) return offset + 1
    if (byte === undefined || byte < 0x20 || offset >= last) return -1
    if (byte !== BACKSLASH) {
      offset += 1
      continue
    }
    const next = bytes[offset + 1] ?? 0
    if (next === SMALL_U) {
      for (let digit = 2; digit < 6; digit++) if (hexDigits[bytes[offset + digit] ?? 0] === 0) return -1
      offset += 6
    } else if (escapes[next] === 1) offset += 2
    else return -1
  }
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const [COLON, NEWLINE, SPACES] = [0x3a, 0x0a, new Set([0x20, 0x09, 0x0d, 0x0a])]

/**
 * JSON without what servers send before it to keep the connection alive: blank lines (DeepSeek), and comments as in a stream
 * (OpenRouter). A byte order mark means nothing.
 */
export function skipComments(body: Buffer): Buffer {
  let at = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0
  for (;;) {
    while (SPACES.has(body[at] ?? 0)) at++
    if (body[at] !== COLON) return body.subarray(at)
    const end = body.indexOf(NEWLINE, at)
    at = end === -1 ? body.length : end + 1
  }
}

/** The value of a JSON text; undefined when it is not JSON. */
export function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The value of a top-level member, as the client wrote it. */
export function memberBytes({ bytes, members }: RequestBody, name: string): Buffer | undefined {
  for (const member of members) {
    if (member.name === name) return bytes.subarray(member.valueStart, member.valueEnd)
  }
  return undefined
}

/** A member as it goes to every lane: rewritten by the parser, or as it came; undefined where it was dropped. */
export function writtenMember(
  { body, rewritten }: Pick<TurnRequest, 'body' | 'rewritten'>,
  name: string,
): Buffer | undefined {
  const written = rewritten.get(name)
  return written === undefined ? memberBytes(body, name) : (written ?? undefined)
}

const COMMA = 0x2c
const SPACE = 0x20
const OPEN_BRACE = 0x7b
/** How a byte outside of strings changes the depth. */
const depthSteps = new Int8Array(256)
for (const byte of Buffer.from('[{')) depthSteps[byte] = 1
for (const byte of Buffer.from(']}')) depthSteps[byte] = -1

/** How many objects and arrays are open at `end`; -1 where a string is not closed before it. */
export function depthAt(bytes: Buffer, end: number): number {
  let depth = 0
  for (let at = 0; at < end; at++) {
    const byte = bytes[at]!
    if (byte !== QUOTE) depth += depthSteps[byte]!
    else {
      at = skipString(bytes, at) - 1
      if (at < 0) return -1
    }
  }
  return depth
}

/** The bytes of each element of a valid array, so that some can be left out without rewriting the others. */
export const arrayElements = (array: Buffer): Buffer[] => [...elementsWithin(array, array.length)]

/** The elements that end within `bytesMax`, one after the other. */
export function* elementsWithin(array: Buffer, bytesMax: number): Generator<Buffer> {
  const end = Math.min(array.length, bytesMax)
  let depth = 0
  let start = array.indexOf('[') + 1
  let isEmpty = true
  for (let at = start - 1; at < end; at++) {
    const byte = array[at]!
    if (byte === QUOTE) {
      at = skipString(array, at) - 1
      if (at < 0) return
      continue
    }
    depth += depthSteps[byte]!
    if (depth === 0) {
      const last = array.subarray(start, at)
      if (!isEmpty || !isBlank(last)) yield last
      return
    }
    if (depth !== 1 || byte !== COMMA) continue
    yield array.subarray(start, at)
    isEmpty = false
    start = at + 1
  }
}

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) if (byte > SPACE) return false
  return true
}

const [OPEN, BETWEEN, CLOSE] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')]

/** An array of elements that are JSON already. */
export const jsonArray = (elements: readonly Buffer[]): Buffer =>
  Buffer.concat([OPEN, ...elements.flatMap((element, at) => (at === 0 ? [element] : [BETWEEN, element])), CLOSE])

/**
 * The object with some members changed: a new value as JSON, or null to leave the member out; new members are appended.
 * Everything else stays the sender's own bytes.
 */
export function spliceMembers(
  { bytes, members }: RequestBody,
  changes: ReadonlyMap<string, Buffer | string | null>,
): Buffer {
  const pieces: Buffer[] = []
  const missing = new Set(changes.keys())
  /** Everything before this offset is copied or left out. */
  let copied = 0
  /** The end of the last kept member: the next one needs a comma. Undefined while there is none. */
  let keptEnd: number | undefined

  for (let index = 0; index < members.length; index++) {
    const member = members[index]!
    const change = changes.get(member.name)
    missing.delete(member.name)
    if (change === null) {
      // With a member before it, the comma in front goes along; as the first one, the comma behind does.
      const end = keptEnd ?? member.nameStart
      if (end > copied) pieces.push(bytes.subarray(copied, end))
      copied = keptEnd === undefined ? (members[index + 1]?.nameStart ?? member.valueEnd) : member.valueEnd
      continue
    }
    if (change !== undefined) {
      pieces.push(bytes.subarray(copied, member.valueStart), typeof change === 'string' ? Buffer.from(change) : change)
      copied = member.valueEnd
    }
    keptEnd = member.valueEnd
  }

  const lastEnd = keptEnd ?? bytes.indexOf(OPEN_BRACE) + 1
  if (lastEnd > copied) pieces.push(bytes.subarray(copied, lastEnd))
  copied = Math.max(copied, lastEnd)
  let separator = keptEnd === undefined ? '' : ','
  for (const name of missing) {
    const value = changes.get(name)
    if (!value) continue
    const named = `${separator}${JSON.stringify(name)}:`
    if (typeof value === 'string') pieces.push(Buffer.from(named + value))
    else pieces.push(Buffer.from(named), value)
    separator = ','
  }
  if (bytes.length > copied) pieces.push(bytes.subarray(copied))
  return Buffer.concat(pieces)
}
