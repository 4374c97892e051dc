import { createHmac } from 'node:crypto'
import { createTurnstile } from '../lib/take-turns.ts'
import type { AccountKey } from './account-keys.ts'

/** Digested without a pause: a millisecond or less, be it one item or many. */
const PAUSE_BYTES = 512 * 1024
/** An item costs as much as so many bytes, however short it is. */
const ITEM_COST_BYTES = 2048

const passTurnstile = createTurnstile()

/** What an id is looked up by: who reads the file finds none, and none of another account is ever hit. */
export const digestId = (key: AccountKey, kind: 'response' | 'item', id: string): string =>
  createHmac('sha256', key.idDigests).update(`${kind} ${id}`).digest('base64url')

/** The same item of the same account has the same digest; whether two accounts have said the same cannot be seen. */
export async function digestItems(key: AccountKey, items: readonly Buffer[]): Promise<string[]> {
  const digests: string[] = []
  let sincePause = 0
  for (const item of items) {
    const hmac = createHmac('sha256', key.itemDigests)
    for (let at = 0; at < item.length; at += PAUSE_BYTES) {
      const piece = item.subarray(at, at + PAUSE_BYTES)
      hmac.update(piece)
      sincePause += piece.length
      if (sincePause >= PAUSE_BYTES) {
        await passTurnstile()
        sincePause = 0
      }
    }
    sincePause += ITEM_COST_BYTES
    digests.push(hmac.digest('base64url'))
  }
  return digests
}
