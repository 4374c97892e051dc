import type { KeyKind } from '../model/caller.ts'
import { CHECKSUM_LENGTH, checksumOf, PREFIXES, SECRET_LENGTH } from './key-format.ts'

/** No key is longer; what is longer is not even hashed. */
export const KEY_LENGTH_MAX =
  Math.max(PREFIXES.wallet.length, PREFIXES.builder.length) + SECRET_LENGTH + CHECKSUM_LENGTH

const CHARACTERS = /^[0-9A-Za-z]+$/

/**
 * The kind of a token that may be a key, or undefined for what certainly is none. The length is looked at first, so a
 * megabyte of anything costs no more than a typo.
 */
export function readKey(token: string): KeyKind | undefined {
  const kind = kindOf(token)
  if (kind === undefined || !CHARACTERS.test(token.slice(PREFIXES[kind].length))) return undefined
  return checksumOf(token.slice(0, -CHECKSUM_LENGTH)) === token.slice(-CHECKSUM_LENGTH) ? kind : undefined
}

const kindOf = (token: string): KeyKind | undefined =>
  fits(token, 'wallet') ? 'wallet' : fits(token, 'builder') ? 'builder' : undefined

const fits = (token: string, kind: KeyKind): boolean =>
  token.length === PREFIXES[kind].length + SECRET_LENGTH + CHECKSUM_LENGTH && token.startsWith(PREFIXES[kind])
