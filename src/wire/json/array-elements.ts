import { skipString } from './skip-string.ts'

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
