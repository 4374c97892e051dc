import { type Fields, isObject } from '../../lib/types.ts'
import { tryParse } from '../json/bytes.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import type { StreamState } from '../shared/stream-state.ts'

/** A frame is larger than it may be: the provider is broken, or is filling our memory. */
export class FrameTooLarge extends Error {
  override readonly name = 'FrameTooLarge'
}

const LF = 0x0a
const CR = 0x0d
const COLON = 0x3a
const SPACE = 0x20
const EMPTY = Buffer.alloc(0)
const BYTE_ORDER_MARK = Buffer.from('\ufeff')

/** An unfinished frame of this size gets room to grow: else each further piece would copy all of it. */
const ROOM_FROM_BYTES = 64 * 1024

/** An unfinished frame up to this size is copied out of its read: else a stalled stream holds the whole read in memory. */
const COPIED_BYTES_MAX = 4096

/**
 * Splits a stream of bytes into Server-Sent Events (SSE) frames, wherever the network has split it. A frame ends with an empty line;
 * lines end with LF or CRLF. (The standard also allows a lone CR; no provider sends it, and reading it would make every frame wait for the
 * byte after it.)
 *
 * `readFrames` in `gateway/stream.ts` feeds it. `parseFrameData` below reads the JSON of a frame for the readers of the wires (in
 * `read-events.ts`, `read-stream.ts` or `chunk.ts` of each folder); `repeated-text.ts` and `protocols/chat/frame-template.ts` take runs
 * of similar frames without parsing them.
 */
export class FrameSplitter {
  readonly #frameBytesMax: number
  #bytes: Buffer = EMPTY
  #start = 0
  /** Where the search for the end continues, so that a frame that comes in many pieces is not searched again each time. */
  #searched = 0
  /** A byte order mark may open a stream, and means nothing. */
  #isAtStart = true
  /** While an unfinished frame is large: the buffer whose bytes up to `#used` end with it. */
  #room: Buffer | undefined
  #used = 0

  constructor({ frameBytesMax }: { readonly frameBytesMax: number }) {
    this.#frameBytesMax = frameBytesMax
  }

  push(more: Buffer): void {
    this.#searched -= this.#start
    if (this.#bytes.length === 0) {
      this.#room = undefined
      this.#bytes = more
    } else this.#bytes = this.#append(more)
    this.#start = 0
    if (!this.#isAtStart || this.#bytes.length < BYTE_ORDER_MARK.length) return
    this.#isAtStart = false
    if (this.#bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) this.#start = BYTE_ORDER_MARK.length
    this.#searched = Math.max(this.#searched, this.#start)
  }

  /** The next whole frame, with its closing empty line. Throws where a frame exceeds its bound. */
  next(): Buffer | undefined {
    const bytes = this.#bytes
    let end = -1
    for (let at = bytes.indexOf(LF, this.#searched); at !== -1 && end === -1; at = bytes.indexOf(LF, at + 1)) {
      if (bytes[at + 1] === LF) end = at + 2
      else if (bytes[at + 1] === CR && bytes[at + 2] === LF) end = at + 3
    }
    // The bound also holds for a frame that came in one read: how the network splits a stream changes nothing.
    const length = (end === -1 ? bytes.length : end) - this.#start
    if (length > this.#frameBytesMax) throw new FrameTooLarge(`over ${this.#frameBytesMax} bytes`)
    if (end !== -1) return this.#takeUntil(end)
    this.#searched = Math.max(this.#start, bytes.length - 3)
    if (this.#start > 0 && bytes.length - this.#start <= COPIED_BYTES_MAX) {
      this.#bytes = Buffer.from(bytes.subarray(this.#start))
      this.#searched -= this.#start
      this.#start = 0
      this.#room = undefined
    }
    return undefined
  }

  /**
   * Takes the next frames that match as one piece; undefined for none. `match` gives the end of the frame at `from`, or -1. A frame that
   * came in several reads is not compared: each read would start over with it.
   */
  takeMatching(template: { match(bytes: Buffer, from: number, endMax: number): number }): Buffer | undefined {
    const bytes = this.#bytes
    let end = this.#start
    if (this.#searched > end) return undefined
    for (;;) {
      const next = template.match(bytes, end, Math.min(bytes.length, end + this.#frameBytesMax))
      if (next === -1) break
      end = next
    }
    return end === this.#start ? undefined : this.#takeUntil(end)
  }

  /** Takes the unfinished frame that is left when the stream ends; empty for none. */
  takeRest(): Buffer {
    return this.#takeUntil(this.#bytes.length)
  }

  #append(more: Buffer): Buffer {
    const rest = this.#bytes.subarray(this.#start)
    if (rest.length < ROOM_FROM_BYTES) {
      this.#room = undefined
      return Buffer.concat([rest, more])
    }
    const length = rest.length + more.length
    if (this.#room === undefined || this.#used + more.length > this.#room.length) {
      this.#room = Buffer.allocUnsafeSlow(2 * length)
      this.#used = rest.copy(this.#room)
    }
    this.#used += more.copy(this.#room, this.#used)
    return this.#room.subarray(this.#used - length, this.#used)
  }

  #takeUntil(end: number): Buffer {
    const isAll = end === this.#bytes.length
    const taken = isAll && this.#start === 0 ? this.#bytes : this.#bytes.subarray(this.#start, end)
    // A read that was taken whole is not kept: a quiet stream would hold on to it.
    if (isAll) this.#bytes = EMPTY
    this.#start = isAll ? 0 : end
    this.#searched = this.#start
    this.#isAtStart = false
    return taken
  }
}

/** One frame with one line of data. */
export const dataFrame = (json: unknown): Buffer => Buffer.from(`data: ${JSON.stringify(json)}\n\n`)

export const DONE_FRAME = Buffer.from('data: [DONE]\n\n')

/**
 * The data of a frame: its `data:` lines joined with LF, without the one space that may follow the colon. Undefined when
 * there is none, as in a comment or a keep-alive.
 */
export function readData(frame: Buffer): Buffer | undefined {
  let data: Buffer | undefined
  let lines: Buffer[] | undefined
  for (let start = 0; start < frame.length; ) {
    const found = frame.indexOf(LF, start)
    const next = found === -1 ? frame.length : found + 1
    let end = found === -1 ? frame.length : found
    if (end > start && frame[end - 1] === CR) end--
    const from = start + DATA.length
    if (from <= end && frame.readUInt32BE(start) === DATA_WORD && (from === end || frame[from] === COLON)) {
      const line = from === end ? EMPTY : frame.subarray(frame[from + 1] === SPACE ? from + 2 : from + 1, end)
      if (data === undefined) data = line
      else {
        lines ??= [data]
        lines.push(LINE_END, line)
      }
    }
    start = next
  }
  return lines === undefined ? data : Buffer.concat(lines)
}

const DATA = Buffer.from('data')
/** Compared as one number: calling Node to compare four bytes takes longer. */
const DATA_WORD = DATA.readUInt32BE()
const LINE_END = Buffer.from('\n')

/** No protocol nests deeper than some dozens. */
const DEPTH_MAX = 500

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** `[` and `{`, `]` and `}` differ in one bit. */
const OPENING = 0x5b
const CLOSING = 0x5d
const WITHOUT_THAT_BIT = ~0x20

/** JSON.stringify fails at some thousand levels, and JSON.parse takes seconds for a million. */
function isTooDeep(data: Buffer): boolean {
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

const DONE = Buffer.from('[DONE]')

/** The object in a frame of a stream; undefined, with what it means noted in `state`, where there is none. */
export function parseFrameData(state: Pick<StreamState, 'done' | 'invalid'>, frame: Buffer): Fields | undefined {
  if (frame.includes(CR) && hasLoneReturn(frame)) {
    state.invalid = 'a line that ends with CR alone'
    return undefined
  }
  const data = readData(frame)
  // Comments are the provider's keep-alives; the client gets ours.
  if (data === undefined || data.length === 0) return undefined
  if (data.length < 2 * DONE.length && data.includes(DONE)) {
    state.done = true
    return undefined
  }
  // Every bracket has to close, so nearly all frames are too short to be too deep.
  const value = data.length >= 2 * DEPTH_MAX && isTooDeep(data) ? undefined : tryParse(data.toString('utf8'))
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

/** By the standard it ends a line, and two of them a frame: here it would hide one frame in another. */
function hasLoneReturn(frame: Buffer): boolean {
  for (let at = frame.indexOf(CR); at !== -1; at = frame.indexOf(CR, at + 1)) if (frame[at + 1] !== LF) return true
  return false
}

const NAME_WITHIN_BYTES = 200

/** The name on the `event:` line: it repeats the type, and is only needed where the data has none. */
export const nameOfFrame = (frame: Buffer): string =>
  /(?:^|\n)event: ?([\w.]+)/.exec(frame.toString('latin1', 0, NAME_WITHIN_BYTES))?.[1] ?? ''
