/**
 * Cuts a stream of bytes into Server-Sent Events frames, however the network cut it. A frame ends with an empty line;
 * lines may end with LF or CRLF (a lone CR too, says the standard; no provider sends it, and reading it would make every
 * frame wait for the byte after it).
 */
export interface FrameSplitter {
  /** The frames that these bytes complete, each with its closing empty line. */
  push(bytes: Buffer): Buffer[]
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
  let pending: Buffer = EMPTY
  // Where the search for the end goes on, so that a frame that comes in many pieces is not searched again each time.
  let searched = 0
  return {
    push(bytes) {
      const whole = pending.length === 0 ? bytes : Buffer.concat([pending, bytes])
      const frames: Buffer[] = []
      let start = 0
      for (let end = endOfFrame(whole, searched); end !== -1; end = endOfFrame(whole, start)) {
        frames.push(whole.subarray(start, end))
        start = end
      }
      pending = start === whole.length ? EMPTY : whole.subarray(start)
      searched = Math.max(0, pending.length - 3)
      if (pending.length > bounds.frameBytesMax) throw new FrameTooLarge(`over ${bounds.frameBytesMax} bytes`)
      return frames
    },
    rest: () => pending,
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
