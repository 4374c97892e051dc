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
