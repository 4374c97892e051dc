import { sql } from 'kysely'
import type { PageBefore } from './sql.ts'
import { changeOne } from './sql-store.ts'
import type { LedgerDb, Row } from './tables.ts'

export type StoredAudit = Row<'audit'>

/** The newest row, to which the next one is chained. */
export const findAuditHead = (db: LedgerDb) =>
  db.selectFrom('audit').selectAll().where('seq', '>', 0).orderBy('seq', 'desc').limit(1).executeTakeFirst()

const INSERT = `INSERT INTO audit (seq, at, actor, action, target, account, detail, hash, prev_hash)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, CASE ? WHEN 1 THEN ? ELSE (SELECT hash FROM audit WHERE seq = ? AND hash = ?) END)`

/** Only after the row that its hash covers: if another row is there, the subquery finds no hash, which the column refuses. */
export const auditInsert = ({ seq, at, actor, action, target, account, detail, prev_hash, hash }: StoredAudit) =>
  changeOne(INSERT, seq, at, actor, action, target, account, detail, hash, seq, prev_hash, seq - 1, prev_hash)

/** Oldest first, to verify the chain. */
export const listAuditFrom = (db: LedgerDb, after: number, limit: number) =>
  db.selectFrom('audit').selectAll().where('seq', '>', after).orderBy('seq').limit(limit).execute()

interface AuditSlice extends PageBefore {
  readonly from: number
  readonly target: string | undefined
  /** A part of it, in lower case. */
  readonly actor: string | undefined
  readonly action: string | undefined
}

/** Rows of all accounts in a range of numbers, newest first. */
export const listAuditSlice = (db: LedgerDb, { from, before, limit, target, actor, action }: AuditSlice) =>
  db
    .selectFrom('audit')
    .selectAll()
    .where('seq', '>=', from)
    .where('seq', '<', before)
    .$if(target !== undefined, (rows) => rows.where('target', '=', target!))
    .$if(action !== undefined, (rows) => rows.where('action', '=', action!))
    .$if(actor !== undefined, (rows) => rows.where(sql<boolean>`instr(lower(actor), ${actor}) > 0`))
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()

/** When the last row up to this number was written. */
export const findAuditTime = async (db: LedgerDb, seq: number): Promise<number | undefined> =>
  (await db.selectFrom('audit').select('at').where('seq', '<=', seq).orderBy('seq', 'desc').limit(1).executeTakeFirst())
    ?.at

interface AuditPage extends PageBefore {
  /** Undefined: rows of all accounts and of none. */
  readonly account: number | undefined
  readonly target: string | undefined
}

/** Newest first. */
export const listAuditBefore = (db: LedgerDb, { account, target, before, limit }: AuditPage) =>
  db
    .selectFrom('audit')
    .selectAll()
    .where('seq', '<', before)
    .$if(account !== undefined, (rows) => rows.where('account', '=', account!))
    .$if(target !== undefined, (rows) => rows.where('target', '=', target!))
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
