/** Smaller pieces are copied together: each costs a hundred bytes more, and keeps the buffer of its read. */
const PIECE_BYTES_MIN = 4 * 1024
const BLOCK_BYTES = 16 * 1024

/** Gathers pieces of any size into one buffer. */
export function gatherBytes() {
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
    add(piece: Buffer): void {
      length += piece.length
      // The first piece may be the only one.
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
    get length(): number {
      return length
    },
    whole(): Buffer {
      closeBlock()
      const [first] = pieces
      return first !== undefined && pieces.length === 1 ? first : Buffer.concat(pieces, length)
    },
  }
}

/** Memory shared by many users, who take a part and give it back. */
export interface ByteBudget {
  /** False when too little is left; then nothing is taken. */
  take(bytes: number): boolean
  give(bytes: number): void
  readonly taken: number
}

export function createByteBudget(bytesMax: number): ByteBudget {
  let taken = 0
  return {
    take(bytes) {
      if (taken + bytes > bytesMax) return false
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

/** The part of it that each user may take is what that leaves to all others together: none can take all of it. */
export interface SharedByteBudget<User = number> {
  of(user: User): ByteBudget
}

export function createSharedByteBudget<User = number>(bytesMax: number): SharedByteBudget<User> {
  const all = createByteBudget(bytesMax)
  const takenBy = new Map<User, number>()
  const takenOf = (user: User): number => takenBy.get(user) ?? 0
  const note = (user: User, bytes: number) => {
    const taken = takenOf(user) + bytes
    if (taken > 0) takenBy.set(user, taken)
    else takenBy.delete(user)
  }
  return {
    of: (user) => ({
      take(bytes) {
        if (takenOf(user) + bytes > bytesMax - all.taken - bytes || !all.take(bytes)) return false
        note(user, bytes)
        return true
      },
      give(bytes) {
        all.give(bytes)
        note(user, -bytes)
      },
      get taken() {
        return takenOf(user)
      },
    }),
  }
}
