/** So much memory, shared by many: whoever needs a part of it takes it first, and gives it back. */
export interface ByteBudget {
  /** False when there is not that much left; nothing is taken then. */
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
