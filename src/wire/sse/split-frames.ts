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

export function createFrameSplitter(bounds: { readonly frameBytesMax: number }): FrameSplitter {
  let bytes: Buffer = EMPTY
  let start = 0
  // Where the search for the end goes on, so that a frame that comes in many pieces is not searched again each time.
  let searched = 0

  const takeUntil = (end: number): Buffer => {
    const isAll = end === bytes.length
    const taken = isAll && start === 0 ? bytes : bytes.subarray(start, end)
    // What has been taken whole is not kept: a quiet stream would hold on to its last read.
    if (isAll) bytes = EMPTY
    start = isAll ? 0 : end
    searched = start
    return taken
  }
  return {
    push(more) {
      searched -= start
      bytes = bytes.length === 0 ? more : Buffer.concat([bytes.subarray(start), more])
      start = 0
    },
    next() {
      const end = endOfFrame(bytes, searched)
      if (end !== -1) return takeUntil(end)
      searched = Math.max(start, bytes.length - 3)
      if (bytes.length - start > bounds.frameBytesMax) throw new FrameTooLarge(`over ${bounds.frameBytesMax} bytes`)
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
