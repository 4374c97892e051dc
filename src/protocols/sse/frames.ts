import { type Fields, isObject } from '../../lib/types.ts'
import { tryParse } from '../json/bytes.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import type { StreamState } from '../shared/stream-state.ts'

/**
 * Cuts a stream of bytes into Server-Sent Events frames, however the network cut it. A frame ends with an empty line;
 * lines may end with LF or CRLF (a lone CR too, says the standard; no provider sends it, and reading it would make every
 * frame wait for the byte after it).
 */
export interface FrameSplitter {
  push(bytes: Buffer): void
  /** The next whole frame, with its closing empty line. Throws where one grows beyond its bound. */
  next(): Buffer | undefined
  /**
   * Takes several frames as one piece, for whoever knows them without cutting them: handed what there is and where the
   * next frame begins, `endOf` says where the last of its frames ends, or that same place when the next is none of them.
   */
  take(endOf: (bytes: Buffer, from: number) => number): Buffer | undefined
  /** What is left when the stream ends: an unfinished frame, or nothing. */
  rest(): Buffer
}

/** A frame is larger than it may be: the provider is broken, or is filling our memory. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge'
}

const LF = 0x0a
const CR = 0x0d
const EMPTY = Buffer.alloc(0)
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** From so many bytes on, an unfinished frame is given room to grow: each further piece of it would have all of it copied. */
const ROOM_FROM_BYTES = 64 * 1024

/** An unfinished frame up to this size is copied out of its read: else a stream that stands still holds all of that for it. */
const COPIED_BYTES_MAX = 4096

export function createFrameSplitter(bounds: { readonly frameBytesMax: number }): FrameSplitter {
  let bytes: Buffer = EMPTY
  let start = 0
  // Where the search for the end goes on, so that a frame that comes in many pieces is not searched again each time.
  let searched = 0
  // A byte order mark may open a stream, and means nothing.
  let isAtItsBegin = true
  /** What the bytes are the end of, up to `used`, while an unfinished frame is large. */
  let room: Buffer | undefined
  let used = 0

  const append = (more: Buffer): Buffer => {
    const rest = bytes.subarray(start)
    if (rest.length < ROOM_FROM_BYTES) {
      room = undefined
      return Buffer.concat([rest, more])
    }
    const length = rest.length + more.length
    if (room === undefined || used + more.length > room.length) {
      room = Buffer.allocUnsafeSlow(2 * length)
      used = rest.copy(room)
    }
    used += more.copy(room, used)
    return room.subarray(used - length, used)
  }
  const takeUntil = (end: number): Buffer => {
    const isAll = end === bytes.length
    const taken = isAll && start === 0 ? bytes : bytes.subarray(start, end)
    // What has been taken whole is not kept: a quiet stream would hold on to its last read.
    if (isAll) bytes = EMPTY
    start = isAll ? 0 : end
    searched = start
    isAtItsBegin = false
    return taken
  }
  const letGoOfRead = () => {
    if (start === 0 || bytes.length - start > COPIED_BYTES_MAX) return
    bytes = Buffer.from(bytes.subarray(start))
    searched -= start
    start = 0
    room = undefined
  }
  return {
    push(more) {
      searched -= start
      if (bytes.length === 0) room = undefined
      bytes = bytes.length === 0 ? more : append(more)
      start = 0
      if (!isAtItsBegin || bytes.length < BYTE_ORDER_MARK.length) return
      isAtItsBegin = false
      if (bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) start = BYTE_ORDER_MARK.length
      searched = Math.max(searched, start)
    },
    next() {
      const end = endOfFrame(bytes, searched)
      // Also one that has come whole, in one read: how a stream is cut changes nothing.
      const length = (end === -1 ? bytes.length : end) - start
      if (length > bounds.frameBytesMax) throw new FrameTooLarge(`over ${bounds.frameBytesMax} bytes`)
      if (end !== -1) return takeUntil(end)
      searched = Math.max(start, bytes.length - 3)
      letGoOfRead()
      return undefined
    },
    take(endOf) {
      const end = endOf(bytes, start)
      return end === start ? undefined : takeUntil(end)
    },
    rest: () => bytes.subarray(start),
  }
}

/** The offset behind the first empty line at or after `from`, or -1. */
function endOfFrame(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(LF, from); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1]
    if (next === LF) return at + 2
    if (next === CR && bytes[at + 2] === LF) return at + 3
  }
  return -1
}

/** One frame with one line of data, as Chat Completions streams it. */
export const dataFrame = (json: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

export const DONE_FRAME = Buffer.from('data: [DONE]\n\n')

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
