import { hash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { createQueue } from '../../lib/take-turns.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { AtomicStatement, SqliteFile } from '../../sqlite/sqlite-file.ts'
import { auditInsert, findAuditHead, type StoredAudit } from '../../store/audit.ts'
import type { LedgerDb } from '../../store/tables.ts'

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

export interface AuditTrail {
  /** Resolves when it is durable. What is handed in with it is written in the same step: both, or neither. */
  record(entry: AuditEntry, alongside?: readonly AtomicStatement[]): Promise<void>
}

/** Whoever may read the data folder needs no sign-in, and has no other name. */
export const COMMAND_LINE = 'operator'

const DETAIL_LENGTH_MAX = 500

/** What stands in front of the first row. */
export const NO_HASH = Buffer.alloc(32)

/** One row after the other, whatever comes at the same moment: each needs the hash of the one before it. */
export function createAuditTrail({ db, file, clock }: { db: LedgerDb; file: SqliteFile; clock: Clock }): AuditTrail {
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
