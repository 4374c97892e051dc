import { hash } from 'node:crypto'
import type { z } from 'zod'
import type { auditItem, auditQuery } from '../contract/people.ts'
import { auditInsert, findAuditHead, listAuditBefore, listAuditFrom, type StoredAudit } from '../db/audit.ts'
import { type AtomicStatement, type SqliteFile, UnexpectedChanges } from '../db/sqlite/sqlite-file.ts'
import type { LedgerDb } from '../db/tables.ts'
import { createQueue } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import { done, type Outcome } from './outcome.ts'
import { cutPage, isoTime, type Page, readCursor, writeCursor } from './values.ts'

/** Everything that the trail knows. Closed, so that whoever reads it can rely on the words. */
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
  | 'clock_followed'
  | 'clock_set_back'

export interface AuditEntry {
  /** An e-mail, or `operator` for the command line, or `system`. */
  readonly actor: string
  readonly action: AuditAction
  /** The id of a key, an account, a code, a session, a person. */
  readonly target?: string | undefined
  /** Whose owner may read it; without one it is the operators' alone. */
  readonly account?: AccountRow | number | null | undefined
  /** In words what was changed, never a secret. */
  readonly detail?: string
}

export interface AuditLog {
  /** Resolves when it is durable. What is handed in with it is written in the same step: both, or neither. */
  record(entry: AuditEntry, alongside?: readonly AtomicStatement[]): Promise<void>
}

/** Whoever may read the data folder needs no sign-in, and has no other name. */
export const COMMAND_LINE = 'operator'

const DETAIL_LENGTH_MAX = 500

/** What stands in front of the first row. */
const NO_HASH = Buffer.alloc(32)

/** One row after the other, whatever comes at the same moment: each needs the hash of the one before it. */
export function createAuditLog({ db, file, clock }: { db: LedgerDb; file: SqliteFile; clock: Clock }): AuditLog {
  const inTurn = createQueue(1)
  let head: { readonly seq: number; readonly hash: Uint8Array } | undefined
  return {
    record: (entry, alongside = []) =>
      inTurn(async () => {
        const before = head ?? (await findAuditHead(db)) ?? { seq: 0, hash: NO_HASH }
        const row = chain(before, entry, clock.now())
        // Whether a failed write has come to the file is not known: the next one reads where the chain ends.
        head = undefined
        await file.atomic([...alongside, auditInsert(row)])
        head = row
      }),
  }
}

function chain(
  before: { readonly seq: number; readonly hash: Uint8Array },
  entry: AuditEntry,
  at: number,
): StoredAudit {
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

/** Every column but the hash itself, in an order and a spelling that never change. */
export function auditHash(row: Omit<StoredAudit, 'hash'>): Buffer {
  const { seq, at, actor, action, target, account, detail, prev_hash: before } = row
  const columns = [seq, at, actor, action, target, account, detail, Buffer.from(before).toString('hex')]
  return hash('sha256', JSON.stringify(columns), 'buffer')
}

/** What comes from outside (an e-mail, a browser's name) stays one line, and is hashed as it will be read again. */
const shown = (text: string): string =>
  Buffer.from(text.slice(0, DETAIL_LENGTH_MAX).replace(/\p{Cc}/gu, ' ')).toString('utf8')

/** An act, without whose it is. */
type AuditedAction = Omit<AuditEntry, 'actor'>

/** The audit trail in the hand of somebody who acts: what they do there is theirs. */
export interface ActorLog {
  /**
   * Does what the statements say and tells of it, in one step. False where one of them found something else than it was
   * made for: nothing was done then, and nothing is told.
   */
  act(act: AuditedAction, statements: readonly AtomicStatement[]): Promise<boolean>
  /** Tells of it before it is done, because the books do that in a step of their own. */
  announce(act: AuditedAction): Promise<void>
}

export const actorLogOf = (audit: AuditLog, actor: string): ActorLog => ({
  async act(act, statements) {
    try {
      await audit.record({ ...act, actor }, statements)
      return true
    } catch (error) {
      if (error instanceof UnexpectedChanges) return false
      throw error
    }
  },
  announce: (act) => audit.record({ ...act, actor }),
})

/** What came of an order that the books were given: `void` says why nothing moved. */
interface CarriedOut<Value> {
  readonly outcome: Outcome<Value>
  readonly void?: string
}

/**
 * An order to the books, which record it with the requests of that moment. Its line is in the trail before that, with the
 * reference by which the books know it, so that no crash in between loses who gave it; whether it was carried out, the
 * books themselves say. One that moves nothing gets a second line, and so does one that failed.
 */
export async function applyOrder<Value>(
  { auditLog }: { readonly auditLog: ActorLog },
  order: AuditedAction & { readonly detail: string },
  run: () => Promise<CarriedOut<Value>>,
): Promise<Outcome<Value>> {
  const tellOfIt = (action: 'order_void' | 'order_failed', why: string): Promise<void> =>
    auditLog.announce({ ...order, action, detail: `${why}: ${order.detail}` })
  await auditLog.announce(order)
  const carriedOut = await run().catch(async (error: unknown) => {
    // A trail that cannot be written either is no news to whoever is told of the first failure.
    await tellOfIt('order_failed', (error as Error).message).catch(() => {})
    throw error
  })
  const { outcome } = carriedOut
  const why = carriedOut.void ?? (outcome.kind === 'refused' ? outcome.reason : undefined)
  if (why !== undefined) await tellOfIt('order_void', why)
  return outcome
}

type AuditItem = z.output<typeof auditItem>

interface ListAuditArgs extends z.output<typeof auditQuery> {
  /** Of one account, for its owner; of all without, for an operator. */
  readonly account?: AccountRow
}

/** Newest first; `next` is what to hand in as `after` for the page behind. */
export async function listAudit(
  deps: { readonly db: LedgerDb },
  { account, target, after, limit }: ListAuditArgs,
): Promise<Outcome<Page<AuditItem>>> {
  const before = readCursor(after) ?? Number.MAX_SAFE_INTEGER
  if (typeof before !== 'number') return before
  const asked = { account, target, before, limit: limit + 1 }
  const { rows, next } = cutPage(await listAuditBefore(deps.db, asked), limit, ({ seq }) => seq)
  return done({ items: rows.map(itemOf), next: writeCursor(next) })
}

const itemOf = ({ seq, at, actor, action, target, detail }: StoredAudit): AuditItem => ({
  seq,
  at: isoTime(at),
  actor,
  action,
  target,
  detail,
})

interface AuditProof {
  readonly rows: number
  /** Rows that are not what their hash says, or not behind the row that they say. */
  readonly violations: number
  /** The first of them. */
  readonly broken_at: number | null
  /** The hash of the last row: whoever notes it elsewhere can tell later whether the end was cut off. */
  readonly head: string
}

const SLICE_ROWS = 1000

/** Reads the whole chain, slice by slice, while it grows. */
export async function verifyAudit({ db }: { readonly db: LedgerDb }): Promise<AuditProof> {
  let before: Pick<StoredAudit, 'seq' | 'hash'> = { seq: 0, hash: NO_HASH }
  const broken: number[] = []
  let rows = 0
  for (;;) {
    const slice = await listAuditFrom(db, before.seq, SLICE_ROWS)
    for (const row of slice) {
      if (!isBehind(row, before)) broken.push(row.seq)
      before = row
    }
    rows += slice.length
    if (slice.length < SLICE_ROWS) break
  }
  const head = Buffer.from(before.hash).toString('hex')
  return { rows, violations: broken.length, broken_at: broken[0] ?? null, head }
}

const isBehind = (row: StoredAudit, before: Pick<StoredAudit, 'seq' | 'hash'>): boolean =>
  row.seq === before.seq + 1 &&
  Buffer.from(row.prev_hash).equals(before.hash) &&
  Buffer.from(row.hash).equals(auditHash(row))
