const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
/** How a byte outside of strings changes the depth. */
const steps = new Int8Array(256)
for (const byte of Buffer.from('[{')) steps[byte] = 1
for (const byte of Buffer.from(']}')) steps[byte] = -1

/**
 * The bytes of each element of an array that JSON.parse has accepted, so that some can be left out without writing the
 * others anew.
 */
export function arrayElements(array: Buffer): Buffer[] {
  const elements: Buffer[] = []
  let depth = 0
  let start = array.indexOf('[') + 1
  for (let at = start - 1; at < array.length; at++) {
    const byte = array[at]!
    if (byte === QUOTE) at = endOfString(array, at)
    else depth += steps[byte]!
    if ((depth === 1 && byte === COMMA) || depth === 0) {
      elements.push(array.subarray(start, at))
      start = at + 1
    }
    if (depth === 0) break
  }
  return elements.length === 1 && String(elements[0]).trim() === '' ? [] : elements
}

/** The offset of the closing quote. */
function endOfString(bytes: Buffer, from: number): number {
  let at = from + 1
  while (bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
  return at
}
