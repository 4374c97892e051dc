import type { Selectable } from 'kysely'
import type { AtomicStatement } from './sqlite/sqlite-file.ts'
import type { AuditTable, LedgerDb } from './tables.ts'

export type StoredAudit = Selectable<AuditTable>

/** The newest row, to which the next one is chained. */
export const findAuditHead = (db: LedgerDb): Promise<StoredAudit | undefined> =>
  db.selectFrom('audit').selectAll().where('seq', '>', 0).orderBy('seq', 'desc').limit(1).executeTakeFirst()

const INSERT = `INSERT INTO audit (seq, at, actor, action, target, account, detail, hash, prev_hash)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, CASE ? WHEN 1 THEN ? ELSE (SELECT hash FROM audit WHERE seq = ? AND hash = ?) END)`

/** Only after the row that its hash covers: if another row is there, the subquery finds no hash, which the column refuses. */
export const auditInsert = (row: StoredAudit): AtomicStatement => {
  const { seq, at, actor, action, target, account, detail, prev_hash: before, hash } = row
  const behind = [seq, before, seq - 1, before]
  return { sql: INSERT, rows: [[seq, at, actor, action, target, account, detail, hash, ...behind]], expectChanges: 1 }
}

/** Oldest first, to verify the chain. */
export const listAuditFrom = (db: LedgerDb, after: number, limit: number): Promise<StoredAudit[]> =>
  db.selectFrom('audit').selectAll().where('seq', '>', after).orderBy('seq').limit(limit).execute()

interface AuditPage {
  /** Undefined: rows of all accounts and of none. */
  readonly account: number | undefined
  readonly target: string | undefined
  readonly before: number
  readonly limit: number
}

/** Newest first. */
export const listAuditBefore = (db: LedgerDb, { account, target, before, limit }: AuditPage): Promise<StoredAudit[]> =>
  db
    .selectFrom('audit')
    .selectAll()
    .where('seq', '<', before)
    .$if(account !== undefined, (rows) => rows.where('account', '=', account!))
    .$if(target !== undefined, (rows) => rows.where('target', '=', target!))
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
