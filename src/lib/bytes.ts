/** Bytes that come in pieces, as small as their sender likes, and are wanted as one. */
interface GatheredBytes {
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

/** So much memory, shared by many: whoever needs a part of it takes it first, and gives it back. */
export interface ByteBudget {
  /** False when there is not that much left; nothing is taken then. */
  take(bytes: number): boolean
  give(bytes: number): void
  readonly taken: number
}

/** A bound that is asked for each time may become smaller than what is taken; nothing is taken then until enough is back. */
export function createByteBudget(bytesMax: number | (() => number)): ByteBudget {
  const bound = typeof bytesMax === 'number' ? () => bytesMax : bytesMax
  let taken = 0
  return {
    take(bytes) {
      if (taken + bytes > bound()) return false
      taken += bytes
      return true
    },
    give(bytes) {
      taken -= bytes
    },
    get taken() {
      return taken
    },
  }
}
