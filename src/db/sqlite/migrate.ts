import type { Clock } from '../../lib/clock.ts'
import { changeOne, type SqlStore } from '../sql-store.ts'

/** A released migration is never edited: the next change is the next migration. */
export interface Migration {
  readonly name: string
  readonly statements: readonly string[]
}

/** No version of ours writes such a file: it is another program's, or damaged. */
export class UnknownContents extends Error {
  override readonly name = 'UnknownContents'
}

const RECORDS = 'migrations'
const CREATED_TABLE = /^(?:CREATE TABLE|ALTER TABLE \w+ RENAME TO) (\w+)/
const REMOVED_TABLE = /^(?:DROP TABLE (\w+)|ALTER TABLE (\w+) RENAME TO)/

/**
 * Brings the file to the newest schema, or throws and leaves it as it was. The list of migrations only grows. Kysely's
 * Migrator needs an interactive transaction, and here a transaction is a list (see SqlStore). A migration and its record
 * are one commit.
 */
export async function migrate(file: SqlStore, migrations: readonly Migration[], clock: Clock): Promise<void> {
  const applied = await countApplied(file, migrations)
  const ours = migrations.flatMap(tablesCreatedBy)
  const foreign = (await listTables(file)).filter((table) => table !== RECORDS && !ours.includes(table))
  if (foreign.length > 0) {
    throw new UnknownContents(
      `This database has tables that are not ours: ${foreign.join(', ')}. Move them elsewhere, or choose another data folder.`,
    )
  }
  const missing = migrations.slice(applied)
  // A new file gets all of them in one commit: each would wait for the disk.
  const commits = applied === 0 ? [missing] : missing.map((migration) => [migration])
  for (const commit of commits) await apply(file, commit, clock.now())
}

/** Without the tables that exist only while the migration runs. */
function tablesCreatedBy({ statements }: Migration): string[] {
  const created = new Set<string>()
  for (const sql of statements) {
    const [, dropped, renamed] = REMOVED_TABLE.exec(sql) ?? []
    created.delete(dropped ?? renamed ?? '')
    const [, table] = CREATED_TABLE.exec(sql) ?? []
    if (table !== undefined) created.add(table)
  }
  return [...created]
}

export async function listTables(file: SqlStore): Promise<string[]> {
  const rows = await file.all<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    [],
  )
  return rows.map(({ name }) => name)
}

/** Whether a file that is only read has exactly these. */
export async function isNewest(file: SqlStore, migrations: readonly Migration[]): Promise<boolean> {
  if (!(await listTables(file)).includes(RECORDS)) return false
  const records = await file.all<{ name: string }>(`SELECT name FROM ${RECORDS} ORDER BY position`, [])
  return (
    records.length === migrations.length && records.every(({ name }, position) => migrations[position]?.name === name)
  )
}

/** Whether the next start migrates it: it has the first ones of the list, and no other. */
export async function isOlder(file: SqlStore, migrations: readonly Migration[]): Promise<boolean> {
  if (!(await listTables(file)).includes(RECORDS)) return false
  const records = await file.all<{ name: string }>(`SELECT name FROM ${RECORDS} ORDER BY position`, [])
  return (
    records.length < migrations.length && records.every(({ name }, position) => migrations[position]?.name === name)
  )
}

/** They must be the first ones of the list. */
async function countApplied(file: SqlStore, migrations: readonly Migration[]): Promise<number> {
  const tables = await listTables(file)
  if (!tables.includes(RECORDS)) {
    if (tables.length === 0) return 0
    throw new UnknownContents(
      `This file is another program's database: it has the tables ${tables.join(', ')}. Choose another data folder.`,
    )
  }
  const records = await file.all<{ name: string }>(`SELECT name FROM ${RECORDS} ORDER BY position`, [])
  const names = records.map(({ name }) => name)
  const unknown = names.filter((name, position) => migrations[position]?.name !== name)
  if (unknown.length > 0) {
    const isNewer = migrations.every(({ name }, position) => names[position] === name)
    const Unknown = isNewer ? Error : UnknownContents
    throw new Unknown(
      `This database was written by a newer version: it has the migrations ${unknown.join(', ')}, which this one does not know. ` +
        'Start the newer version, or restore a backup made before the update.',
    )
  }
  return names.length
}

const CREATE_RECORDS = `CREATE TABLE IF NOT EXISTS ${RECORDS} (position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, applied_at INTEGER NOT NULL) STRICT`

async function apply(file: SqlStore, migrations: readonly Migration[], now: number): Promise<void> {
  const steps = migrations.flatMap(({ name, statements }) => [
    ...[CREATE_RECORDS, ...statements].map((sql, step) => ({ name, step, change: { sql, rows: [[]] } })),
    { name, step: undefined, change: changeOne(`INSERT INTO ${RECORDS} (name, applied_at) VALUES (?, ?)`, name, now) },
  ])
  try {
    await file.atomic(steps.map(({ change }) => change))
  } catch (cause) {
    const { message, statement } = cause as { message: string; statement?: number }
    const failed = statement === undefined ? undefined : steps[statement]
    const where = failed?.step === undefined ? '' : `, in step ${failed.step}: ${failed.change.sql}`
    throw new Error(`Migration ${failed?.name ?? migrations.at(-1)?.name} failed and was undone: ${message}${where}`, {
      cause,
    })
  }
}
