/** What a network and a server may do to the bytes of a stream without changing what it says. */
export interface NetworkFaults {
  /** One event of a stream, as this weather writes it. */
  frame(data: string): string
  /** The same bytes in the pieces in which they leave. */
  pieces(bytes: Buffer): Buffer[]
}

export const CALM: NetworkFaults = {
  frame: (data) => `data: ${data}\n\n`,
  pieces: (bytes) => [bytes],
}

/** Beyond this size, finer cuts find nothing more. */
const FINE_BYTES_MAX = 64 * 1024

/** Lines end with CRLF or LF, comments come between and inside events, and bytes are cut anywhere, inside characters too. */
export function storm(random: () => number): NetworkFaults {
  const below = (limit: number) => Math.floor(random() * limit)
  return {
    frame(data) {
      const end = below(2) === 0 ? '\r\n' : '\n'
      const before = below(3) === 0 ? `: still here${end}${end}` : ''
      const inside = below(4) === 0 ? `: a comment${end}` : ''
      const after = below(4) === 0 ? `:${end}${end}` : ''
      return `${before}${inside}data:${below(2) === 0 ? ' ' : ''}${data}${end}${end}${after}`
    },
    pieces(bytes) {
      const pieces: Buffer[] = []
      for (let from = 0; from < bytes.length; ) {
        const size = bytes.length > FINE_BYTES_MAX ? FINE_BYTES_MAX : 1 + below(below(2) === 0 ? 4 : 200)
        pieces.push(bytes.subarray(from, from + size))
        from += size
      }
      return pieces
    },
  }
}
