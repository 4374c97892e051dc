import { hash } from 'node:crypto'
import type { z } from 'zod'
import type { auditQuery } from '../contract/people.ts'
import { auditInsert, findAuditHead, listAuditBefore, listAuditFrom, type StoredAudit } from '../db/audit.ts'
import { type AtomicStatement, isAlreadyThere, type SqlStore, UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { createQueue } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Outcome } from './outcome.ts'
import { isoTime, NEWEST, readPage } from './values.ts'

/** The actions of the audit log: a closed list, so that readers can rely on it. */
export type AuditAction =
  | 'signed_in'
  | 'sign_in_refused'
  | 'signed_out'
  | 'confirm_refused'
  | 'password_changed'
  | 'password_reset'
  | 'invited'
  | 'signed_up'
  | 'session_ended'
  | 'person_disabled'
  | 'person_enabled'
  | 'key_created'
  | 'key_changed'
  | 'key_rotated'
  | 'key_revoked'
  | 'code_redeemed'
  | 'funds_asked'
  | 'account_created'
  | 'account_status'
  | 'wallet_ordered'
  | 'plan_ordered'
  | 'plan_end_ordered'
  | 'order_void'
  | 'order_failed'
  | 'code_created'
  | 'code_withdrawn'
  | 'admin_key_created'
  | 'admin_key_revoked'
  | 'clock_followed'
  | 'clock_set_back'
  | 'backup_begun'
  | 'restored'

export interface AuditEntry {
  /** An email, `operator` for the command line, `admin-key:` and an id, or `system`. */
  readonly actor: string
  readonly action: AuditAction
  /** The id of a key, an account, a code, a session, a person. */
  readonly target?: string | undefined
  /** The account whose owner may read it; without one, only operators may. */
  readonly account?: AccountRow | number | null | undefined
  /** What was changed, never a secret. */
  readonly detail?: string
}

export type AuditLog = ReturnType<typeof createAuditLog>

type Link = Pick<StoredAudit, 'seq' | 'hash'>

/** The actor of the command line, which needs no sign-in. */
export const COMMAND_LINE = 'operator'

const DETAIL_LENGTH_MAX = 500

/** The `prev_hash` of the first row. */
const NO_HASH = Buffer.alloc(32)

/** With each attempt one of the nodes that write at once has written its row. */
const ATTEMPTS_MAX = 100

const isHeadTaken = (error: unknown): boolean => isAlreadyThere(error) && error.message.includes('audit.seq')

/** Writes one row at a time, because each row needs the hash of the one before it. */
export function createAuditLog({ db, file, clock }: { db: LedgerDb; file: SqlStore; clock: Clock }) {
  const inTurn = createQueue(1)
  let head: Link | undefined
  return {
    /** Resolves when the entry is durable. `alongside` is written in the same transaction. */
    record: (entry: AuditEntry, alongside: readonly AtomicStatement[] = []): Promise<void> =>
      inTurn(async () => {
        for (let attempt = 1; ; attempt++) {
          const before = head ?? (await findAuditHead(db)) ?? { seq: 0, hash: NO_HASH }
          const row = chain(before, entry, clock.now())
          // A failed write may have reached the database, so the next one reads the head again.
          head = undefined
          try {
            await file.atomic([...alongside, auditInsert(row)])
            head = row
            return
          } catch (error) {
            // Another node has written a row meanwhile.
            if (!isHeadTaken(error) || attempt === ATTEMPTS_MAX) throw error
          }
        }
      }),
  }
}

function chain(before: Link, entry: AuditEntry, at: number): StoredAudit {
  const row = {
    seq: before.seq + 1,
    at,
    actor: shown(entry.actor),
    action: entry.action,
    target: entry.target === undefined ? null : shown(entry.target),
    account: entry.account ?? null,
    detail: shown(entry.detail ?? ''),
    prev_hash: before.hash,
  }
  return { ...row, hash: auditHash(row) }
}

/** Hashes every column but the hash itself, in an order and a spelling that never change. */
export function auditHash(row: Omit<StoredAudit, 'hash'>): Buffer {
  const { seq, at, actor, action, target, account, detail, prev_hash: before } = row
  const columns = [seq, at, actor, action, target, account, detail, Buffer.from(before).toString('hex')]
  return hash('sha256', JSON.stringify(columns), 'buffer')
}

/** Text from outside (an email, a browser's name) on one line, normalized to UTF-8 before it is hashed. */
const shown = (text: string): string =>
  Buffer.from(text.slice(0, DETAIL_LENGTH_MAX).replace(/\p{Cc}/gu, ' ')).toString('utf8')

type AuditedAction = Omit<AuditEntry, 'actor'>

/** The audit log for one actor. */
export type ActorLog = ReturnType<typeof actorLogOf>

export const actorLogOf = (audit: AuditLog, actor: string) => ({
  /**
   * Runs the statements and writes the entry in one transaction. False if a statement changed an unexpected number of rows:
   * then nothing is written.
   */
  async act(act: AuditedAction, statements: readonly AtomicStatement[]): Promise<boolean> {
    try {
      await audit.record({ ...act, actor }, statements)
      return true
    } catch (error) {
      if (error instanceof UnexpectedChanges) return false
      throw error
    }
  },
  /** Writes the entry before the action, which the ledger performs in its own transaction. */
  announce: (act: AuditedAction): Promise<void> => audit.record({ ...act, actor }),
})

/**
 * Runs an order to the ledger, which records it in its own batch. Its entry is written first, with the reference that the
 * ledger stores, so that a crash in between does not lose who gave the order. An order that moves nothing (`void` says why)
 * or fails gets a second entry.
 */
export async function applyOrder<Value>(
  { auditLog }: { readonly auditLog: ActorLog },
  order: AuditedAction & { readonly detail: string },
  run: () => Promise<{ readonly outcome: Outcome<Value>; readonly void?: string }>,
): Promise<Outcome<Value>> {
  const announceEnd = (action: 'order_void' | 'order_failed', why: string): Promise<void> =>
    auditLog.announce({ ...order, action, detail: `${why}: ${order.detail}` })
  await auditLog.announce(order)
  const applied = await run().catch(async (error: unknown) => {
    // The first failure is the one to report, even if the audit log fails as well.
    await announceEnd('order_failed', (error as Error).message).catch(() => {})
    throw error
  })
  const { outcome } = applied
  const why = applied.void ?? (outcome.kind === 'refused' ? outcome.reason : undefined)
  if (why !== undefined) await announceEnd('order_void', why)
  return outcome
}

/** Newest first. With an account, only its entries, for its owner. */
export const listAudit = (
  { db }: { readonly db: LedgerDb },
  { account, target, ...page }: z.output<typeof auditQuery> & { readonly account?: AccountRow },
) =>
  readPage(page, {
    first: NEWEST,
    read: (before, limit) => listAuditBefore(db, { account, target, before, limit }),
    numberOf: ({ seq }) => seq,
    view: ({ seq, at, actor, action, target, detail }) => ({ seq, at: isoTime(at), actor, action, target, detail }),
  })

const SLICE_ROWS = 1000

/** Checks the hash and the predecessor of each row, slice by slice, while the chain grows. */
export async function verifyAudit({ db }: { readonly db: LedgerDb }) {
  let before: Link = { seq: 0, hash: NO_HASH }
  const broken: number[] = []
  let rows = 0
  for (;;) {
    const slice = await listAuditFrom(db, before.seq, SLICE_ROWS)
    for (const row of slice) {
      if (!follows(row, before)) broken.push(row.seq)
      before = row
    }
    rows += slice.length
    if (slice.length < SLICE_ROWS) break
  }
  // The hash of the last row, noted elsewhere, later shows whether the end was cut off.
  const head = Buffer.from(before.hash).toString('hex')
  return { rows, violations: broken.length, broken_at: broken[0] ?? null, head }
}

const follows = (row: StoredAudit, before: Link): boolean =>
  row.seq === before.seq + 1 &&
  Buffer.from(row.prev_hash).equals(before.hash) &&
  Buffer.from(row.hash).equals(auditHash(row))
