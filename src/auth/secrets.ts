import { createHmac, timingSafeEqual } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { encodeBase32, type RandomBytes } from '../lib/random-id.ts'
import type { KeyKind } from '../model/caller.ts'

/**
 * The prefix says what a key is for: models, or the management API. Behind it are 43 characters of 62 for 256 random bits, and 6
 * for the checksum of all before them.
 */
const PREFIXES = {
  wallet: 'mr_wallet_',
  builder: 'mr_builder_',
  admin: 'mra_',
  job: 'mr_job_',
} as const satisfies Record<TokenKind, string>
type TokenKind = KeyKind | 'admin' | 'job'
const SECRET_LENGTH = 43
const CHECKSUM_LENGTH = 6

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Letters and digits only, so that a double click selects a whole key and no shell or URL needs quotes. */
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

/** Not a secret: detects typos without a look-up, and lets scanners recognise leaked keys. */
export function checksumOf(prefixAndSecret: string): string {
  let rest = crc32(prefixAndSecret)
  let text = ''
  for (let place = 0; place < CHECKSUM_LENGTH; place++) {
    text = BASE62[rest % 62] + text
    rest = Math.floor(rest / 62)
  }
  return text
}

/**
 * The stored digest of a key. The pepper is outside the database, so a stolen copy cannot even check a guess. A slow hash is for
 * passwords; a key has 256 random bits.
 */
export const digestKey = (pepper: Uint8Array, token: string): Buffer =>
  createHmac('sha256', pepper).update(token).digest()

/** A new secret, and the two things that are stored of it. */
export interface MintedKey {
  /** Shown once. */
  readonly key: string
  readonly digest: Uint8Array
  /** The ends of the key, by which a person recognises it. */
  readonly shown: string
}

const SHOWN_AT_EACH_END = 4

export function mintKey(deps: { pepper: Uint8Array; random: RandomBytes }, kind: KeyKind | 'admin'): MintedKey {
  const prefix = PREFIXES[kind]
  const body = prefix + encodeBase62(deps.random(32), SECRET_LENGTH)
  const key = body + checksumOf(body)
  const beginning = key.slice(0, prefix.length + SHOWN_AT_EACH_END)
  return { key, digest: digestKey(deps.pepper, key), shown: `${beginning}...${key.slice(-SHOWN_AT_EACH_END)}` }
}

/** A longer text is not a key, and is not hashed. */
export const KEY_LENGTH_MAX =
  Math.max(PREFIXES.wallet.length, PREFIXES.builder.length) + SECRET_LENGTH + CHECKSUM_LENGTH

const CHARACTERS = /^[0-9A-Za-z]+$/

/** The kind of a token that may be a key; undefined if it certainly is not. Checks the length first, so long texts cost nothing. */
export function readKey(token: string): TokenKind | undefined {
  const kind = kindOf(token)
  if (kind === undefined || !CHARACTERS.test(token.slice(PREFIXES[kind].length))) return undefined
  return checksumOf(token.slice(0, -CHECKSUM_LENGTH)) === token.slice(-CHECKSUM_LENGTH) ? kind : undefined
}

const kindOf = (token: string): TokenKind | undefined =>
  (['wallet', 'builder', 'admin', 'job'] as const).find(
    (kind) =>
      token.length === PREFIXES[kind].length + SECRET_LENGTH + CHECKSUM_LENGTH && token.startsWith(PREFIXES[kind]),
  )

/** The key of a CI job: the run that it belongs to, its end, and a MAC over both and over what the run says. Nothing of it is stored. */
export interface JobKey {
  /** The row of the run. */
  readonly run: number
  /** Milliseconds, a whole second. */
  readonly expiresAt: number
}

/** What a run says: another row with the same number, as after a restored backup, has another MAC. */
interface RunOfJob {
  readonly account: number
  readonly id: string
  readonly key: number
}

const ROW_BYTES = 6
const SECONDS_BYTES = 5
const MAC_BYTES = 32 - ROW_BYTES - SECONDS_BYTES

export function mintJobKey(secret: Uint8Array, { run, expiresAt }: JobKey, of: RunOfJob): string {
  const bytes = Buffer.alloc(ROW_BYTES + SECONDS_BYTES)
  bytes.writeUIntBE(run, 0, ROW_BYTES)
  bytes.writeUIntBE(Math.floor(expiresAt / 1000), ROW_BYTES, SECONDS_BYTES)
  const body = PREFIXES.job + encodeBase62(Buffer.concat([bytes, macOfJob(secret, bytes, of)]), SECRET_LENGTH)
  return body + checksumOf(body)
}

/** Without a check of its MAC, for which the run has to be read first. */
export function readJobKey(token: string): JobKey {
  const bytes = bytesOfJobKey(token)
  const expiresAt = bytes.readUIntBE(ROW_BYTES, SECONDS_BYTES) * 1000
  return { run: bytes.readUIntBE(0, ROW_BYTES), expiresAt }
}

export function isJobKeyOf(secret: Uint8Array, token: string, of: RunOfJob): boolean {
  const bytes = bytesOfJobKey(token)
  const head = bytes.subarray(0, ROW_BYTES + SECONDS_BYTES)
  return timingSafeEqual(macOfJob(secret, head, of), bytes.subarray(ROW_BYTES + SECONDS_BYTES))
}

const macOfJob = (secret: Uint8Array, head: Uint8Array, { account, id, key }: RunOfJob): Buffer =>
  createHmac('sha256', secret)
    .update(head)
    .update(JSON.stringify([account, id, key]))
    .digest()
    .subarray(0, MAC_BYTES)

/** 43 letters of 62 hold a little more than 32 bytes: what is over is no key that was minted. */
function bytesOfJobKey(token: string): Buffer {
  let rest = 0n
  for (const letter of token.slice(PREFIXES.job.length, -CHECKSUM_LENGTH))
    rest = rest * 62n + BigInt(BASE62.indexOf(letter))
  const hex = rest.toString(16).padStart(64, '0')
  return Buffer.from(hex.length > 64 ? '00'.repeat(32) : hex, 'hex')
}

/** The prefix lets logs hide it, and distinguishes it from an API key. */
const PREFIX = 'mr_session_'
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH}}$`)

/** The secret of a browser session: 256 random bits. */
export const mintSessionSecret = (random: RandomBytes): string => PREFIX + encodeBase62(random(32), SECRET_LENGTH)

/** Avoids a look-up of texts that cannot be one. */
export const isSessionSecret = (text: string): boolean =>
  text.length === PREFIX.length + SECRET_LENGTH && SHAPE.test(text)

/** 120 bits are 24 letters: too many to guess, and few enough to type. */
const BYTES = 15
const LETTERS = 24
const LETTERS_IN_A_GROUP = /.{4}(?=.)/g
/** Longer text is rejected unread. */
const TEXT_LENGTH_MAX = 100

/** `K4J7-9XQM-…`: no two letters look alike, and case does not matter. */
export const mintInviteCode = (random: RandomBytes): string =>
  encodeBase32(random(BYTES)).toUpperCase().replace(LETTERS_IN_A_GROUP, '$&-')

/** The letters of a typed code as it was minted; undefined if it is not one. */
export const readInviteCode = (text: string): string | undefined => readLetters(text, LETTERS)

function readLetters(text: string, count: number): string | undefined {
  if (text.length > TEXT_LENGTH_MAX) return undefined
  const letters = text.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1')
  return letters.length === count && /^[0-9A-HJKMNP-TV-Z]+$/.test(letters) ? letters : undefined
}

/** 80 bits are 16 letters. */
const RECOVERY_BYTES = 10
const RECOVERY_LETTERS = 16

/** Stands for a lost second factor, once. */
export const mintRecoveryCode = (random: RandomBytes): string =>
  encodeBase32(random(RECOVERY_BYTES)).toUpperCase().replace(LETTERS_IN_A_GROUP, '$&-')

export const readRecoveryCode = (text: string): string | undefined => readLetters(text, RECOVERY_LETTERS)
