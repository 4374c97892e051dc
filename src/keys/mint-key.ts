import type { RandomBytes } from '../lib/random-id.ts'
import type { KeyKind } from '../model/caller.ts'
import { digestKey } from './digest-key.ts'
import { checksumOf, encodeBase62, PREFIXES, SECRET_LENGTH } from './key-format.ts'

/** A new secret together with the only two things about it that are kept. */
export interface MintedKey {
  /** Shown once. */
  readonly key: string
  readonly digest: Uint8Array
  /** What a person recognises it by; what it leaves out could not be guessed before the sun goes out. */
  readonly shown: string
}

const SHOWN_AT_EACH_END = 4

export function mintKey(deps: { pepper: Uint8Array; random: RandomBytes }, kind: KeyKind): MintedKey {
  const prefix = PREFIXES[kind]
  const body = prefix + encodeBase62(deps.random(32), SECRET_LENGTH)
  const key = body + checksumOf(body)
  const beginning = key.slice(0, prefix.length + SHOWN_AT_EACH_END)
  return { key, digest: digestKey(deps.pepper, key), shown: `${beginning}...${key.slice(-SHOWN_AT_EACH_END)}` }
}
