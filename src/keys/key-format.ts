import { crc32 } from 'node:zlib'
import type { KeyKind } from '../model/caller.ts'

/** `mr_wallet_` or `mr_builder_`, 43 characters of 62 for 256 random bits, 6 for the checksum of all before them. */
export const PREFIXES: Readonly<Record<KeyKind, string>> = { wallet: 'mr_wallet_', builder: 'mr_builder_' }
export const SECRET_LENGTH = 43
export const CHECKSUM_LENGTH = 6

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Letters and digits only, so that a double click selects a whole key and no shell or URL wants it quoted. */
export function encodeBase62(bytes: Uint8Array, length: number): string {
  let rest = 0n
  for (const byte of bytes) rest = (rest << 8n) | BigInt(byte)
  let text = ''
  for (let place = 0; place < length; place++) {
    text = BASE62[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}

/** Not a secret: it tells a typo from a key without a look-up, and lets a scanner know a leaked key when it sees one. */
export function checksumOf(prefixAndSecret: string): string {
  let rest = crc32(prefixAndSecret)
  let text = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    text = BASE62[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}
