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

/** The kinds of things that the audit log names, by the beginning of their ids. */
const NAMES_OF: Readonly<Record<string, (db: LedgerDb, ids: readonly string[]) => Promise<Named[]>>> = {
  key_: (db, ids) => db.selectFrom('keys').select(['id', 'name']).where('id', 'in', ids).execute(),
  acct_: (db, ids) => db.selectFrom('accounts').select(['id', 'email as name']).where('id', 'in', ids).execute(),
  usr_: (db, ids) => db.selectFrom('people').select(['id', 'email as name']).where('id', 'in', ids).execute(),
  team_: (db, ids) => db.selectFrom('teams').select(['id', 'name']).where('id', 'in', ids).execute(),
  adm_: (db, ids) => db.selectFrom('admin_keys').select(['id', 'name']).where('id', 'in', ids).execute(),
  code_: (db, ids) => db.selectFrom('codes').select(['id', 'shown as name']).where('id', 'in', ids).execute(),
}

interface Named {
  readonly id: string
  readonly name: string
}

/** What the things with these ids are called; ids of other things, and of what is gone, are absent. */
export async function listNames(db: LedgerDb, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const names = new Map<string, string>()
  for (const [prefix, read] of Object.entries(NAMES_OF)) {
    const some = [...new Set(ids.filter((id) => id.startsWith(prefix)))]
    if (some.length === 0) continue
    for (const { id, name } of await read(db, some)) names.set(id, name)
  }
  return names
}
