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

/** The cell in which an account began: there is one. See docs/operate/cells.md. */
const CELL = '0'

/** The first character of the ids of accounts and keys names the cell; 125 random bits follow. */
const idInCell = (prefix: string, random: RandomBytes): string =>
  prefix + CELL + randomId(prefix, random).slice(prefix.length + CELL.length)

export const mintAccountId = (random: RandomBytes) => idInCell('acct_', random) as AccountId
export const mintKeyId = (random: RandomBytes) => idInCell('key_', random) as KeyId
export const mintPersonId = (random: RandomBytes) => randomId('usr_', random) as PersonId
export const mintPasskeyId = (random: RandomBytes): string => randomId('psk_', random)
export const mintSessionId = (random: RandomBytes) => randomId('ses_', random) as SessionId
export const mintTeamId = (random: RandomBytes) => randomId('team_', random)
export const mintScimGroupId = (random: RandomBytes) => randomId('grp_', random)
export const mintAdminKeyId = (random: RandomBytes) => randomId('adm_', random)
export const mintCodeId = (random: RandomBytes) => randomId('code_', random)
export const mintNoticeId = (random: RandomBytes) => randomId('ntc_', random)
export const mintWebhookId = (random: RandomBytes) => randomId('whk_', random)
export const mintDeliveryId = (random: RandomBytes) => randomId('msg_', random)
export const mintBatchId = (random: RandomBytes) => randomId('batch_', random)
export const mintConversationId = (random: RandomBytes) => randomId('conv_', random)
export const mintPaymentId = (random: RandomBytes) => randomId('pay_', random)

const REQUEST_ID = /^req_[0-9a-hjkmnp-tv-z]{26}$/
export const isRequestId = (text: string): text is RequestId => REQUEST_ID.test(text)
