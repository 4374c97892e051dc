import type { LedgerDb } from './tables.ts'

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
