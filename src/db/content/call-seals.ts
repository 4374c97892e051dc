import { createHash } from 'node:crypto'
import type { AccountRow } from '../../model/ids.ts'
import { changeRows, retryUnavailable, type SqlStore, type SqlValue } from '../sql-store.ts'
import type { ContentServices } from './open-content.ts'

export type StoredCallSeals = ReturnType<typeof createStoredCallSeals>

/** A tool runs for minutes, and a person answers within the hour. */
const LIFE_MS = 3_600_000
/** Beyond, the newest are not stored: another node then goes on without them. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024

const KEEP = `INSERT INTO call_seals (name, sealed, expires_at) VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, expires_at = excluded.expires_at`
const FIND = `SELECT s.name AS name, s.sealed AS sealed FROM json_each(?) list
  CROSS JOIN call_seals s ON s.name = list.value AND s.expires_at > ?`

/** The sealed reasoning before tool calls in PostgreSQL, so that a conversation goes on at any node. Written in the background. */
export function createStoredCallSeals({ file, now, onFailure }: ContentServices) {
  let waiting: SqlValue[][] = []
  let waitingBytes = 0
  let writing: Promise<void> | undefined

  const writeAll = async () => {
    while (waiting.length > 0) {
      const rows = waiting
      waiting = []
      waitingBytes = 0
      await retryUnavailable(() => changeRows(file, KEEP, ...rows)).catch(onFailure)
    }
    writing = undefined
  }
  return {
    keep(account: AccountRow, callId: string, sealed: string): void {
      if (waitingBytes + sealed.length > WAITING_BYTES_MAX) return
      waitingBytes += sealed.length
      waiting.push([nameOf(account, callId), sealed, now() + LIFE_MS])
      writing ??= writeAll()
    },
    /** What is stored, by call. */
    async find(account: AccountRow, callIds: readonly string[]): Promise<Map<string, string>> {
      const names = new Map(callIds.map((callId) => [nameOf(account, callId), callId]))
      const rows = await findStored(file, [...names.keys()], now())
      return new Map(rows.map(({ name, sealed }) => [names.get(name)!, sealed]))
    },
    sweep: () => changeRows(file, 'DELETE FROM call_seals WHERE expires_at <= ?', [now()]),
    /** Resolves when everything so far is written. */
    close: async () => writing,
  }
}

const findStored = (file: SqlStore, names: readonly string[], now: number) =>
  file.all<{ name: string; sealed: string }>(FIND, [JSON.stringify(names), now])

/** Clients choose call ids of any length. */
const nameOf = (account: AccountRow, callId: string): string =>
  createHash('sha256').update(`${account} ${callId}`).digest('base64url')
