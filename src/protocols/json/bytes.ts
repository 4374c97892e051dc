import { isUtf8 } from 'node:buffer'
import { type JsonMember, memberBytes, type RequestBody, type TurnRequest } from '../../model/turn.ts'
import { INNER_BOUNDS, scanJson } from './scan-json.ts'

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

const COMMA = 0x2c
const SPACE = 0x20
/** How a byte outside of strings changes the depth. */
const steps = new Int8Array(256)
for (const byte of Buffer.from('[{')) steps[byte] = 1
for (const byte of Buffer.from(']}')) steps[byte] = -1

/**
 * The bytes of each element of an array that JSON.parse has accepted, so that some can be left out without writing the
 * others anew.
 */
export const arrayElements = (array: Buffer): Buffer[] => [...elementsWithin(array, array.length)]

/** One after the other, as far as they end within `bytesMax`. */
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
    depth += steps[byte]!
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

const OPEN = Buffer.from('[')
const BETWEEN = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** An array of elements that are JSON already. */
export function jsonArray(elements: readonly Buffer[]): Buffer {
  const pieces: Buffer[] = [OPEN]
  for (const element of elements) {
    if (pieces.length > 1) pieces.push(BETWEEN)
    pieces.push(element)
  }
  pieces.push(CLOSE)
  return Buffer.concat(pieces)
}

/**
 * The same object with some members changed: a new value as JSON, or null to leave the member out; what was not there is
 * appended. Everything else stays the client's own bytes. Works for requests and for JSON answers alike.
 */
export function spliceMembers(body: RequestBody, changes: ReadonlyMap<string, Buffer | string | null>): Buffer {
  const { bytes, members } = body
  const pieces: Buffer[] = []
  const missing = new Set(changes.keys())
  /** Everything before has been copied or left out on purpose. */
  let copied = 0
  /** The end of the last member that stays: what follows it needs a comma. Undefined while none has stayed. */
  let keptEnd: number | undefined

  const copyUpTo = (end: number): void => {
    if (end > copied) pieces.push(bytes.subarray(copied, end))
    copied = Math.max(copied, end)
  }

  for (let index = 0; index < members.length; index++) {
    const member = members[index]!
    const change = changes.get(member.name)
    missing.delete(member.name)
    if (change === null) {
      // With a member before it, the comma in front goes along; as the first one, the comma behind does.
      copyUpTo(keptEnd ?? member.nameStart)
      copied = keptEnd === undefined ? (members[index + 1]?.nameStart ?? member.valueEnd) : member.valueEnd
      continue
    }
    if (change !== undefined) {
      copyUpTo(member.valueStart)
      pieces.push(asBytes(change))
      copied = member.valueEnd
    }
    keptEnd = member.valueEnd
  }

  const openingEnd = bytes.indexOf(0x7b) + 1
  copyUpTo(keptEnd ?? openingEnd)
  let separator = keptEnd === undefined ? '' : ','
  for (const name of missing) {
    const value = changes.get(name)
    if (!value) continue
    const named = `${separator}${JSON.stringify(name)}:`
    if (typeof value === 'string') pieces.push(Buffer.from(named + value))
    else pieces.push(Buffer.from(named), value)
    separator = ','
  }
  copyUpTo(bytes.length)
  return Buffer.concat(pieces)
}

const asBytes = (value: Buffer | string): Buffer => (typeof value === 'string' ? Buffer.from(value) : value)

/** The same of an object inside of a body that was scanned at the door, as one element of an array is. */
export function spliceElement(element: Buffer, changes: ReadonlyMap<string, Buffer | string | null>): Buffer {
  const scanned = scanJson(element, INNER_BOUNDS)
  if (scanned.kind !== 'scanned') throw new Error('What was parsed at the door cannot be scanned')
  return spliceMembers({ bytes: element, members: scanned.members }, changes)
}
