import { listAuditFrom, type StoredAudit } from '../../store/audit.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { auditHash, NO_HASH } from './audit-trail.ts'

export interface AuditProof {
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
