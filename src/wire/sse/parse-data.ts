import { tryParse } from '../json/try-parse.ts'

/**
 * The value in the data of a frame; undefined where it is no JSON, or is nested so deeply that it could not be written
 * again: JSON.stringify fails at some thousand levels, and JSON.parse takes seconds for a million.
 */
export const parseData = (data: Buffer): unknown => (isTooDeep(data) ? undefined : tryParse(data.toString('utf8')))

/** Nothing that any protocol says is nested deeper than some dozens. */
const DEPTH_MAX = 500

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `[` and `{`, `]` and `}` differ in one bit. */
const OPENING = 0x5b
const CLOSING = 0x5d
const WITHOUT_THAT_BIT = ~0x20

function isTooDeep(data: Buffer): boolean {
  // What opens has to close: nearly all frames are too short for it.
  if (data.length < 2 * DEPTH_MAX) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < data.length; at++) {
    const byte = data[at]!
    if (byte === QUOTE) isInString = !isInString
    else if (isInString) {
      if (byte === BACKSLASH) at++
    } else if ((byte & WITHOUT_THAT_BIT) === OPENING) {
      depth += 1
      if (depth > DEPTH_MAX) return true
    } else if ((byte & WITHOUT_THAT_BIT) === CLOSING) depth -= 1
  }
  return false
}
