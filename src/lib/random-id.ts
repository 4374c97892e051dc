import { randomFillSync } from 'node:crypto'

/** Passed in, so that a test can replay a run from its seed. */
export type RandomBytes = (size: number) => Uint8Array

const POOL_SIZE = 4096
const pool = Buffer.alloc(POOL_SIZE)
let used = POOL_SIZE

/** Cryptographic bytes from a pool: one system call serves some hundred ids. */
export const secureRandom: RandomBytes = (size) => {
  if (size > POOL_SIZE) return randomFillSync(Buffer.alloc(size))
  if (used + size > POOL_SIZE) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = Uint8Array.prototype.slice.call(pool, used, used + size)
  pool.fill(0, used, used + size)
  used += size
  return bytes
}

/** A number from 0 to less than 1. */
export const uniform = (random: RandomBytes): number => Buffer.from(random(6)).readUIntBE(0, 6) / 2 ** 48

// Crockford's alphabet: no i, l, o or u, so an id can be read out.
const BASE32 = '0123456789abcdefghjkmnpqrstvwxyz'

/** Five bits a letter; the last one is padded with zeros. */
export function encodeBase32(bytes: Uint8Array): string {
  const letters = Buffer.allocUnsafe(Math.ceil((bytes.length * 8) / 5))
  let written = 0
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      letters[written++] = BASE32.charCodeAt((buffer >>> bits) & 31)
    }
    buffer &= (1 << bits) - 1
  }
  if (bits > 0) letters[written++] = BASE32.charCodeAt((buffer << (5 - bits)) & 31)
  return letters.toString('latin1')
}

/** 128 random bits, for accounts and keys, which are not sorted by age. */
export function randomId(prefix: string, random: RandomBytes): string {
  return prefix + encodeBase32(random(16))
}
