/** Bytes that come in pieces, as small as their sender likes, and are wanted as one. */
export interface GatheredBytes {
  add(piece: Buffer): void
  readonly length: number
  whole(): Buffer
}

/** Smaller pieces are copied together: by itself each would take a hundred bytes more, and keep the read that it came with. */
const PIECE_BYTES_MIN = 4 * 1024
const BLOCK_BYTES = 16 * 1024

export function gatherBytes(): GatheredBytes {
  const pieces: Buffer[] = []
  let block = Buffer.alloc(0)
  let used = 0
  let length = 0
  const closeBlock = () => {
    if (used > 0) pieces.push(block.subarray(0, used))
    block = Buffer.alloc(0)
    used = 0
  }
  return {
    add(piece) {
      length += piece.length
      // The first may be all that there is.
      if (piece.length >= PIECE_BYTES_MIN || length === piece.length) {
        closeBlock()
        pieces.push(piece)
        return
      }
      if (used + piece.length > block.length) {
        closeBlock()
        block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      }
      used += piece.copy(block, used)
    },
    get length() {
      return length
    },
    whole() {
      closeBlock()
      const [first] = pieces
      return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces, length)
    },
  }
}
