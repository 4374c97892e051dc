import { type Fields, isObject } from '../../lib/types.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import { tryParse } from '../json/strings.ts'
import type { StreamState } from '../shared/stream-state.ts'

/** One frame with one line of data, as Chat Completions streams it. */
export const dataFrame = (json: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

export const DONE_FRAME = Buffer.from('data: [DONE]\n\n')

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const DATA = Buffer.from('data')

/**
 * The data of a frame: its `data:` lines joined with LF, without the one space that may follow the colon. Undefined when
 * there is none, as in a comment or a keep-alive.
 */
export function readData(frame: Buffer): Buffer | undefined {
  const lines: Buffer[] = []
  for (let start = 0; start < frame.length; ) {
    const found = frame.indexOf(LF, start)
    const next = found === -1 ? frame.length : found + 1
    let end = found === -1 ? frame.length : found
    if (end > start && frame[end - 1] === CR) end--
    if (isDataLine(frame, start, end)) lines.push(valueAfterColon(frame, start, end))
    start = next
  }
  if (lines.length <= 1) return lines[0]
  return Buffer.concat(lines.flatMap((line, index) => (index === 0 ? [line] : [Buffer.from('\n'), line])))
}

function isDataLine(frame: Buffer, start: number, end: number): boolean {
  if (end - start < DATA.length || frame.compare(DATA, 0, DATA.length, start, start + DATA.length) !== 0) return false
  return end - start === DATA.length || frame[start + DATA.length] === COLON
}

function valueAfterColon(frame: Buffer, start: number, end: number): Buffer {
  let from = Math.min(start + DATA.length + 1, end)
  if (from < end && frame[from] === SPACE) from++
  return frame.subarray(from, end)
}

/**
 * The value in the data of a frame; undefined where it is no JSON, or is nested so deeply that it could not be written
 * again: JSON.stringify fails at some thousand levels, and JSON.parse takes seconds for a million.
 */
const parseData = (data: Buffer): unknown => (isTooDeep(data) ? undefined : tryParse(data.toString('utf8')))

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

/** The object in a frame of a stream; undefined, with what it means noted, where there is none. */
export function parseFrameData(state: Pick<StreamState, 'done' | 'invalid'>, frame: Buffer): Fields | undefined {
  if (hasLoneReturn(frame)) {
    state.invalid = 'a line that ends with CR alone'
    return undefined
  }
  const data = readData(frame)
  // Comments are the provider's keep-alives; the client gets ours.
  if (data === undefined || data.length === 0) return undefined
  if (isDone(data)) {
    state.done = true
    return undefined
  }
  const value = parseData(data)
  if (isObject(value)) return value
  state.invalid = 'a frame that is not a JSON object'
  return undefined
}

/** The object in a frame, its numbers marked; undefined if none of them would change on its way to the client. */
export function markedData(frame: Buffer): Fields | undefined {
  const data = readData(frame)
  const marked = data === undefined ? undefined : markNumbers(data)
  if (marked === undefined || marked === data) return undefined
  const value = tryParse(marked.toString('utf8'))
  return isObject(value) ? value : undefined
}

/** To the standard it ends a line, and two of them a frame: here it would hide one frame in another. */
function hasLoneReturn(frame: Buffer): boolean {
  for (let at = frame.indexOf(CR); at !== -1; at = frame.indexOf(CR, at + 1)) if (frame[at + 1] !== LF) return true
  return false
}

/** The name on the `event:` line: it repeats the type, and is asked only where the data has none. */
export const nameOfFrame = (frame: Buffer): string =>
  /(?:^|\n)event: ?([\w.]+)/.exec(frame.toString('latin1', 0, NAME_WITHIN_BYTES))?.[1] ?? ''

const NAME_WITHIN_BYTES = 200

/** How a stream says that it is over, in most protocols or by most servers of them. */
const DONE = Buffer.from('[DONE]')
const isDone = (data: Buffer): boolean => data.length < 2 * DONE.length && data.includes(DONE)
