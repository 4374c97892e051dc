import { encodeBase32, type RandomBytes, randomId } from '../lib/random-id.ts'
import type { Brand } from '../lib/types.ts'

/** Public ids. All are unguessable, and each shows its kind. */
export type RequestId = Brand<string, 'request'>
export type AccountId = Brand<string, 'account'>
export type KeyId = Brand<string, 'key'>
export type PersonId = Brand<string, 'person'>
export type SessionId = Brand<string, 'session'>

/** Row numbers in the ledger. They never leave the process. */
export type AccountRow = Brand<number, 'account-row'>
export type KeyRow = Brand<number, 'key-row'>
export type BucketRow = Brand<number, 'bucket-row'>

/** 48 bits of time and 80 random bits: sorts by age, and cannot be guessed. */
export function mintRequestId(now: number, random: RandomBytes): RequestId {
  const bytes = new Uint8Array(16)
  const high = Math.floor(now / 0x10000)
  bytes[0] = high >>> 24
  bytes[1] = high >>> 16
  bytes[2] = high >>> 8
  bytes[3] = high
  bytes[4] = now >>> 8
  bytes[5] = now
  bytes.set(random(10), 6)
  return `req_${encodeBase32(bytes)}` as RequestId
}

export const mintAccountId = (random: RandomBytes) => randomId('acct_', random) as AccountId
export const mintKeyId = (random: RandomBytes) => randomId('key_', random) as KeyId
export const mintPersonId = (random: RandomBytes) => randomId('usr_', random) as PersonId
export const mintSessionId = (random: RandomBytes) => randomId('ses_', random) as SessionId
export const mintCodeId = (random: RandomBytes) => randomId('code_', random)
export const mintBatchId = (random: RandomBytes) => randomId('batch_', random)

const REQUEST_ID = /^req_[0-9a-hjkmnp-tv-z]{26}$/
export const isRequestId = (text: string): text is RequestId => REQUEST_ID.test(text)
