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
