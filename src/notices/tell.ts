import {
  listRecipients,
  listWebhooks,
  mailDelivery,
  type NewNotice,
  noticeInsert,
  webhookDelivery,
} from '../db/notices.ts'
import { type AtomicStatement, isAlreadyThere, type SqlStore } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { mintDeliveryId, mintNoticeId } from '../model/ids.ts'

/** Mails that one recipient gets in an hour at most. Further notices are in the console only. */
const MAILS_PER_HOUR = 20
export const HOUR_MS = 3_600_000

export interface TellServices {
  readonly db: LedgerDb
  readonly file: SqlStore
  readonly clock: Pick<Clock, 'now'>
  readonly random: RandomBytes
  /** Whether this server sends mail. */
  readonly sendsMail: () => boolean
  /** Something is to be sent. */
  readonly onQueued: () => void
}

/** A notice before it has an id. */
export type Occurrence = Omit<NewNotice, 'id' | 'at'>

/**
 * Writes a notice and what is to be sent about it, in one commit. False if it was told before: `once` is unique, so of
 * several nodes that see the same one tells it.
 */
export async function tell(services: TellServices, occurrence: Occurrence): Promise<boolean> {
  const { db, file, clock, random, sendsMail, onQueued } = services
  const at = clock.now()
  const notice = { ...occurrence, id: mintNoticeId(random), at }
  const delivery = () => ({ id: mintDeliveryId(random), event: notice.event, notice: notice.id, at })
  const hooks = (await listWebhooks(db, notice.account)).filter(
    ({ state, events }) => state === 'on' && events.split(' ').includes(notice.event),
  )
  const recipients = sendsMail() ? await listRecipients(db, notice) : []
  const bounds = { since: at - HOUR_MS, most: MAILS_PER_HOUR }
  const statements: AtomicStatement[] = [
    noticeInsert(notice),
    ...hooks.map(({ row }) => webhookDelivery(delivery(), row)),
    ...recipients.map(({ email, language }) =>
      mailDelivery(delivery(), { email, account: notice.account, language: language ?? 'en' }, bounds),
    ),
  ]
  try {
    await file.atomic(statements)
  } catch (error) {
    if (isAlreadyThere(error)) return false
    throw error
  }
  if (hooks.length + recipients.length > 0) onQueued()
  return true
}
