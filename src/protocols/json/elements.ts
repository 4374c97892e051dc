import type { RequestBody } from '../../model/turn.ts'
import { INNER_BOUNDS, scanJson } from './scan-json.ts'
import { skipString } from './strings.ts'

const QUOTE = 0x22
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
