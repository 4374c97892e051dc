import { hash } from 'node:crypto'
import type { z } from 'zod'
import type { auditExportQuery, auditQuery, operatorAuditQuery } from '../contract/people.ts'
import {
  auditInsert,
  findAuditHead,
  findAuditTime,
  listAuditBefore,
  listAuditFrom,
  listAuditSlice,
  listNames,
  type StoredAudit,
} from '../db/audit.ts'
import { type AtomicStatement, isAlreadyThere, type SqlStore, UnexpectedChanges } from '../db/sql-store.ts'
import type { LedgerDb } from '../db/tables.ts'
import { createQueue } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { csvRow } from '../lib/text.ts'
import type { AccountRow } from '../model/ids.ts'
import { readOpenRange } from './date-ranges.ts'
import { done, ifDone, type Outcome } from './outcome.ts'
import {
  findFirstSince,
  isoTime,
  NEWEST,
  type Page,
  readCursor,
  readInSlices,
  readPage,
  writeCursor,
} from './values.ts'

/** The actions of the audit log: a closed list, so that readers can rely on it. */
export type AuditAction =
  | 'signed_in'
  | 'sign_in_refused'
  | 'signed_out'
  | 'confirm_refused'
  | 'password_changed'
  | 'password_reset'
  | 'factor_added'
  | 'factor_changed'
  | 'factor_removed'
  | 'factor_required'
  | 'factor_optional'
  | 'recovery_code_used'
  | 'passkey_refused'
  | 'invited'
  | 'signed_up'
  | 'session_ended'
  | 'person_disabled'
  | 'person_enabled'
  | 'person_removed'
  | 'role_changed'
  | 'identity_linked'
  | 'identity_unlinked'
  | 'person_provisioned'
  | 'group_created'
  | 'group_changed'
  | 'group_deleted'
  | 'key_created'
  | 'key_changed'
  | 'key_rotated'
  | 'key_revoked'
  | 'job_admitted'
  | 'team_created'
  | 'team_changed'
  | 'caps_changed'
  | 'cap_raised'
  | 'code_redeemed'
  | 'funds_asked'
  | 'account_created'
  | 'account_status'
  | 'wallet_ordered'
  | 'plan_ordered'
  | 'plan_end_ordered'
  | 'order_void'
  | 'order_failed'
  | 'payment_started'
  | 'payment_changed'
  | 'payment_moved'
  | 'automatic_top_up'
  | 'card_removed'
  | 'plan_renewal'
  | 'code_created'
  | 'code_withdrawn'
  | 'admin_key_created'
  | 'admin_key_revoked'
  | 'notice_settings_changed'
  | 'notice_preferences_changed'
  | 'webhook_added'
  | 'webhook_changed'
  | 'webhook_rotated'
  | 'webhook_removed'
  | 'webhook_tested'
  | 'webhook_resent'
  | 'managed_changed'
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
    /** Resolves when the entries are durable. `alongside` is written in the same transaction. */
    record: (entries: AuditEntry | readonly AuditEntry[], alongside: readonly AtomicStatement[] = []): Promise<void> =>
      inTurn(async () => {
        for (let attempt = 1; ; attempt++) {
          let last: Link = head ?? (await findAuditHead(db)) ?? { seq: 0, hash: NO_HASH }
          const inserts: AtomicStatement[] = []
          for (const entry of [entries].flat()) {
            const row = chain(last, entry, clock.now())
            inserts.push(auditInsert(row))
            last = row
          }
          // A failed write may have reached the database, so the next one reads the head again.
          head = undefined
          try {
            await file.atomic([...alongside, ...inserts])
            head = last
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

export type AuditedAction = Omit<AuditEntry, 'actor'>

/** The audit log for one actor. */
export type ActorLog = ReturnType<typeof actorLogOf>

export const actorLogOf = (audit: AuditLog, actor: string) => ({
  /**
   * Runs the statements and writes the entries in one transaction. False if a statement changed an unexpected number of rows:
   * then nothing is written.
   */
  async act(acts: AuditedAction | readonly AuditedAction[], statements: readonly AtomicStatement[]): Promise<boolean> {
    try {
      const entries = [acts].flat().map((act) => ({ ...act, actor }))
      await audit.record(entries, statements)
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

/** The entries of an account for its owner, newest first. */
export const listAudit = (
  { db }: { readonly db: LedgerDb },
  { account, target, ...page }: z.output<typeof auditQuery> & { readonly account: AccountRow },
) =>
  ifDone(
    readPage(page, {
      first: NEWEST,
      read: (before, limit) => listAuditBefore(db, { account, target, before, limit }),
      numberOf: ({ seq }) => seq,
      view: (row) => row,
    }),
    async ({ items, next }) => done({ items: await auditViews(db, items, { for: 'owner' }), next }),
  )

/** With the names of what the entries are about. Names of admin keys are for operators. */
async function auditViews(db: LedgerDb, rows: readonly StoredAudit[], reader: { readonly for: 'owner' | 'operator' }) {
  const ids = rows.flatMap(({ actor, target }) => [adminKeyOf(actor), target ?? ''])
  const names = await listNames(
    db,
    reader.for === 'operator' ? ids : ids.filter((id) => /^(?:key|acct|usr|team)_/.test(id)),
  )
  return rows.map(({ seq, at, actor, action, target, detail }) => ({
    ...{ seq, at: isoTime(at), actor, action, target, detail },
    target_name: (target !== null && names.get(target)) || null,
    actor_name: names.get(adminKeyOf(actor)) ?? null,
  }))
}

const ADMIN_KEY = 'admin-key:'
const adminKeyOf = (actor: string): string => (actor.startsWith(ADMIN_KEY) ? actor.slice(ADMIN_KEY.length) : '')

type AuditFilters = z.output<typeof auditExportQuery>

/** Rows that one query searches for a filter without an index. */
const SEARCHED_FACTOR = 4

/** Entries of all accounts and of none, newest first. A sparse filter makes pages short instead of slow. */
export async function listWholeAudit(
  { db }: { readonly db: LedgerDb },
  { after, limit, ...filters }: z.output<typeof operatorAuditQuery>,
): Promise<Outcome<Page<Awaited<ReturnType<typeof auditViews>>[number]>>> {
  const cursor = readCursor(after) ?? NEWEST
  if (typeof cursor !== 'number') return cursor
  const range = readOpenRange(filters)
  if (range.kind === 'refused') return range
  const end = ((await findAuditHead(db))?.seq ?? 0) + 1
  const since = (moment: number) => findFirstSince(moment, end, (seq) => findAuditTime(db, seq))
  const from = range.value.from === undefined ? 1 : await since(range.value.from)
  const before = range.value.before === undefined ? end : await since(range.value.before)
  const { target, action, actor } = filters
  const { rows, next } = await readInSlices<StoredAudit>({
    ...{ from, before: Math.min(before, cursor), limit },
    numberOf: ({ seq }) => seq,
    sliceStart: async (slice) => {
      // Targets have an index of their own.
      const start = slice.before - slice.requests * SEARCHED_FACTOR
      return target === undefined && start > from ? start : undefined
    },
    list: (slice) => listAuditSlice(db, { ...slice, target, action, actor: actor?.toLowerCase() }),
  })
  return done({ items: await auditViews(db, rows, { for: 'operator' }), next: writeCursor(next) })
}

const AUDIT_AT_ONCE = 200

/** The same as CSV, read page by page while it is sent. */
export async function exportAudit(
  services: { readonly db: LedgerDb },
  filters: AuditFilters,
): Promise<Outcome<AsyncGenerator<string>>> {
  const range = readOpenRange(filters)
  return range.kind === 'refused' ? range : done(auditPieces(services, filters))
}

async function* auditPieces(services: { readonly db: LedgerDb }, filters: AuditFilters): AsyncGenerator<string> {
  yield csvRow(['seq', 'at', 'actor', 'actor_name', 'action', 'target', 'target_name', 'detail'])
  for (let after: string | null | undefined; after !== null; ) {
    const page = await listWholeAudit(services, { ...filters, after, limit: AUDIT_AT_ONCE })
    // The filters were checked before the first line, and the cursor is our own.
    if (page.kind === 'refused') throw new Error(`The export of the audit log ended early: ${page.message}`)
    const { items, next } = page.value
    if (items.length > 0) {
      yield items
        .map(({ seq, at, actor, actor_name, action, target, target_name, detail }) =>
          csvRow([seq, at, actor, actor_name ?? '', action, target ?? '', target_name ?? '', detail]),
        )
        .join('')
    }
    after = next
  }
}

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
