import type { z } from 'zod'
import type { auditItem, auditQuery } from '../../contract/people.ts'
import type { AccountRow } from '../../model/ids.ts'
import { listAuditBefore, type StoredAudit } from '../../store/audit.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { isoTime } from '../moments.ts'
import { done, type Outcome } from '../outcome.ts'
import { cutPage, type Page, readCursor, writeCursor } from '../pages.ts'

type AuditItem = z.output<typeof auditItem>

export interface ListAuditArgs extends z.output<typeof auditQuery> {
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
