const OPEN = Buffer.from('[')
const COMMA = Buffer.from(',')
const CLOSE = Buffer.from(']')

/** An array of elements that are JSON already. */
export function jsonArray(elements: readonly Buffer[]): Buffer {
  const pieces: Buffer[] = [OPEN]
  for (const element of elements) {
    if (pieces.length > 1) pieces.push(COMMA)
    pieces.push(element)
  }
  pieces.push(CLOSE)
  return Buffer.concat(pieces)
}
