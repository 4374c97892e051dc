import { existsSync, rmSync } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { Kysely } from 'kysely'
import type { Clock } from '../../lib/clock.ts'
import { syncFile, syncFolder, unfinishedMove } from '../../lib/files.ts'
import { contentMigrations, findContentLedger } from '../content/open-content.ts'
import { createStoreDialect } from '../kysely-dialect.ts'
import { findLedgerId, findMeta, findNewestMark, hasReached, SEALED_BY } from '../meta.ts'
import { ledgerMigrations } from '../migrations/ledger-migrations.ts'
import { findLatestLedgerTime } from '../receipts.ts'
import type { SqlRow, SqlStore, SqlValue } from '../sql-store.ts'
import { wasLeftOpen } from '../sqlite/check-integrity.ts'
import { connect, type NativeConnection, openDriver, type SqliteDriver } from '../sqlite/connection.ts'
import { DatabaseLocked, sqliteCodeOf } from '../sqlite/failure.ts'
import { isNewest, type Migration, migrate } from '../sqlite/migrate.ts'
import type { LedgerTables } from '../tables.ts'
import { spentUnder } from '../verify.ts'
import { MoveRefused, type MoveSource, type MoveTarget, refuseJournaled, START_ONCE } from './move.ts'
import type { TextRow, Words } from './rows.ts'
import type { ColumnKind, MovedTable } from './tables.ts'

const asText = (column: string): string => `CAST(${column} AS TEXT)`

const TEXTS: Readonly<Record<ColumnKind, (column: string) => string>> = {
  number: asText,
  text: (column) => column,
  bytes: (column) => `CASE WHEN ${column} IS NOT NULL THEN lower(hex(${column})) END`,
  truth: asText,
  list: (column) => column,
  span: asText,
}

const WORDS: Words = {
  textOf: ({ name, kind }) => TEXTS[kind](name),
  named: (table) => table,
  parameter: (_, kind) => (kind === 'number' ? 'CAST(? AS INTEGER)' : '?'),
  ordered: ({ name }) => name,
}

const FILES = { ledger: 'ledger.db', content: 'content.db' } as const
type Files<Opened> = Readonly<Record<MovedTable['file'], Opened>>

const ledgerDbOf = (all: SqlStore['all']) =>
  new Kysely<LedgerTables>({ dialect: createStoreDialect({ ...NO_WRITES, all }) })

const NO_WRITES = {
  driver: 'sqlite',
  atomic: () => Promise.reject(new Error('A move reads here')),
  close: async () => {},
}

/** Stands for a content.db that is not there. */
function openEmptyContent(): ReadFile {
  const connection = connect(':memory:')
  for (const { statements } of contentMigrations) for (const sql of statements) connection.exec(sql)
  return { all: (sql, parameters) => connection.prepare(sql).all([...parameters]), close: () => connection.close() }
}

/** A file that is only read. Its shared lock keeps every server and command away, and no byte of it changes. */
interface ReadFile {
  readonly all: (sql: string, parameters: readonly SqlValue[]) => Record<string, unknown>[]
  close(): void
}

function openToRead(path: string): ReadFile {
  let connection: NativeConnection | undefined
  try {
    connection = connect(path)
    connection.exec('PRAGMA query_only = ON')
    connection.exec('BEGIN')
    connection.prepare('SELECT name FROM sqlite_master LIMIT 1').all([])
  } catch (cause) {
    connection?.close()
    if (sqliteCodeOf(cause) === 'SQLITE_BUSY') throw new DatabaseLocked(path, { cause })
    throw cause
  }
  const opened = connection
  return {
    all: (sql, parameters) => opened.prepare(sql).all([...parameters]),
    close() {
      // libsql keeps a closed connection, and with it the lock, until its statements are collected.
      opened.exec('COMMIT')
      opened.close()
    },
  }
}

/** Reads a data folder on which nothing runs. */
export async function openSqliteSource(folder: string): Promise<MoveSource> {
  const paths = { ledger: join(folder, FILES.ledger), content: join(folder, FILES.content) }
  for (const path of Object.values(paths)) {
    if (wasLeftOpen(path))
      throw new MoveRefused(`${path} is in use, or was not closed when its server was killed. ${START_ONCE}`)
  }
  const ledger = openToRead(paths.ledger)
  let content: ReadFile | undefined
  const close = async () => {
    content?.close()
    ledger.close()
  }
  try {
    const hasContent = existsSync(paths.content)
    content = hasContent ? openToRead(paths.content) : openEmptyContent()
    const files: Files<ReadFile> = { ledger, content }
    const stores = { ledger: readStore(ledger), content: readStore(content) }
    await refuseOlder(stores.ledger, 'ledger', folder)
    if (hasContent) await refuseOlder(stores.content, 'content', folder)
    const db = ledgerDbOf(stores.ledger.all)
    const id = await findLedgerId(db)
    await refuseOpenEnds(stores.ledger, folder)
    if (hasContent) await refuseOtherContent(stores, { folder, id })
    return {
      kind: 'sqlite',
      text: { words: WORDS, query: async (sql, parameters, file) => files[file].all(sql, parameters).map(cellsOf) },
      ledger: id,
      sealedBy: await findMeta(db, SEALED_BY),
      latestMs: await findLatestLedgerTime(db),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const cellsOf = (row: Record<string, unknown>): TextRow => Object.values(row) as (string | null)[]

/** By the conventions of db/tables.ts. */
function readStore(file: ReadFile): SqlStore {
  const all = async (sql: string, parameters: readonly SqlValue[]) => {
    const rows = file.all(
      sql,
      parameters.map((value) => (typeof value === 'number' ? BigInt(value) : value)),
    )
    for (const row of rows) {
      for (const [column, value] of Object.entries(row)) {
        if (typeof value === 'bigint' && !column.endsWith('_nano')) row[column] = Number(value)
        else if (value instanceof ArrayBuffer) row[column] = new Uint8Array(value)
      }
    }
    return rows as SqlRow[]
  }
  return { ...NO_WRITES, all: all as SqlStore['all'] }
}

const MIGRATIONS: Files<readonly Migration[]> = { ledger: ledgerMigrations, content: contentMigrations }

async function refuseOlder(store: SqlStore, file: MovedTable['file'], folder: string): Promise<void> {
  if (await isNewest(store, MIGRATIONS[file])) return
  throw new MoveRefused(`${join(folder, FILES[file])} was not written by this version. ${START_ONCE}`)
}

const count = async (store: SqlStore, from: string): Promise<number> =>
  (await store.all<{ rows: number }>(`SELECT COUNT(*) AS rows FROM ${from}`, []))[0]!.rows

/** The rows have to be at rest, and of a kind that PostgreSQL has too. */
async function refuseOpenEnds(ledger: SqlStore, folder: string): Promise<void> {
  await refuseJournaled(folder)
  const open = await count(ledger, `receipts WHERE state = 'open'`)
  if (open > 0 || (await count(ledger, 'waiting_ends')) > 0)
    throw new MoveRefused(
      `There are open requests (${open}). ${START_ONCE} Requests of accounts that do not balance stay open: see db verify.`,
    )
  if ((await count(ledger, `buckets WHERE kind = 'cap'`)) + (await count(ledger, `transfers WHERE unit = 'cap'`)) > 0)
    throw new MoveRefused(
      'This ledger has spend caps as early development builds kept them, which PostgreSQL does not have.',
    )
  await refuseCapsOfWrongTime(ledger)
}

/**
 * PostgreSQL counts against a spend cap what was opened since its period began; SQLite counts from a receipt on. They differ
 * only where an operator has set ledger time back within the period.
 */
async function refuseCapsOfWrongTime(ledger: SqlStore): Promise<void> {
  if ((await count(ledger, 'clock_corrections')) === 0) return
  const [late] = await ledger.all<{ until: number | null }>(
    `SELECT MAX(period_end) AS until FROM spend_counters LEFT JOIN (${COUNTED}) ON counter = row
      WHERE spent_nano <> COALESCE(spent, 0)`,
    [],
  )
  if (late === undefined || late.until === null) return
  const until = new Date(late.until).toISOString()
  throw new MoveRefused(
    `Ledger time was set back in the running period of a spend cap, whose count PostgreSQL cannot take over. Move after ${until}.`,
  )
}

/** What PostgreSQL would count for each spend cap, and from which receipt on. */
const COUNTED = `SELECT spend_counters.row AS counter, MIN(receipts.row) AS first, SUM(${spentUnder('mark.value')}) AS spent
  FROM receipts CROSS JOIN json_each('["' || replace(receipts.caps, ' ', '","') || '"]') AS mark
    CROSS JOIN spend_counters ON spend_counters.account = receipts.account AND spend_counters.subject =
      'cap:' || CASE WHEN instr(mark.value, ':') > 0 THEN mark.value ELSE receipts.key || ':' || mark.value END
  WHERE receipts.caps IS NOT NULL AND receipts.opened_at >= spend_counters.period_start GROUP BY 1`

interface OfLedger {
  readonly folder: string
  readonly id: string
}

/** A start would set such a file aside. */
async function refuseOtherContent({ ledger, content }: Files<SqlStore>, { folder, id }: OfLedger): Promise<void> {
  const of = await findContentLedger(content)
  if (of?.ledger === id && (await hasReached(ledgerDbOf(ledger.all), of.mark))) return
  throw new MoveRefused(`${join(folder, FILES.content)} does not belong to ledger.db as it is. ${START_ONCE}`)
}

interface TargetOptions {
  readonly folder: string
  readonly clock: Clock
}

/** A folder without a ledger, or with what an earlier move has left. */
export async function openSqliteTarget({ folder, clock }: TargetOptions): Promise<MoveTarget> {
  const paths = { ledger: join(folder, FILES.ledger), content: join(folder, FILES.content) }
  clearUnfinished(paths)
  const files: Files<SqliteDriver> = {
    ledger: await createFile(unfinishedMove(paths.ledger), MIGRATIONS.ledger, clock),
    content: await createFile(unfinishedMove(paths.content), MIGRATIONS.content, clock),
  }
  const triggers = { ledger: dropTriggers(files.ledger), content: dropTriggers(files.content) }
  const text = async (sql: string, parameters: readonly string[], file: MovedTable['file']) =>
    files[file].all(sql, parameters).map(cellsOf)
  const db = ledgerDbOf((async (sql: string, parameters: readonly SqlValue[]) =>
    files.ledger.all(sql, parameters)) as SqlStore['all'])
  const begun = new Set<string>()
  const closed = new Set<MovedTable['file']>()
  return {
    kind: 'sqlite',
    text: { words: WORDS, query: text },
    db,
    // A file goes on from the newest time of its rows.
    nowMs: async () => clock.now(),
    async write(table, { rows }) {
      const driver = files[table.file]
      driver.run('BEGIN', [])
      if (!begun.has(table.name))
        driver.run(`DELETE FROM ${table.name} ${table.where ? `WHERE ${table.where}` : ''}`, [])
      begun.add(table.name)
      insertRows(driver, table, rows)
      driver.run('COMMIT', [])
    },
    async derive() {
      for (const sql of FIRST_RECEIPTS) files.ledger.run(sql, [])
      const mark = await findNewestMark(db)
      const newest = [mark.receipt, mark.requestId, ...newestTransfer(files.ledger)]
      files.content.run(
        `INSERT INTO of_ledger (one, ledger, receipt, request_id, transfer, transfer_at)
        VALUES (1, ?, ?, ?, ?, ?)`,
        [await findLedgerId(db), ...newest],
      )
      for (const file of ['ledger', 'content'] as const) for (const sql of triggers[file]) files[file].run(sql, [])
    },
    proveBooks: undefined,
    async finish() {
      for (const name of ['content', 'ledger'] as const) {
        const [row] = files[name].all('PRAGMA integrity_check(1)', [])
        if (row?.integrity_check !== 'ok') throw new Error(`${paths[name]}: ${row?.integrity_check}`)
        files[name].close()
        closed.add(name)
        await syncFile(unfinishedMove(paths[name]))
      }
      // In this order: a folder with ledger.db is complete.
      await rename(unfinishedMove(paths.content), paths.content)
      await rename(unfinishedMove(paths.ledger), paths.ledger)
      await syncFolder(folder)
    },
    async close() {
      for (const name of ['content', 'ledger'] as const) if (!closed.has(name)) files[name].close()
    },
  }
}

function clearUnfinished(paths: Files<string>): void {
  const isRepeated = existsSync(unfinishedMove(paths.ledger))
  for (const [name, path] of Object.entries(paths)) {
    // The content of a move that was interrupted between its last two steps is already called content.db.
    if (existsSync(path) && !(isRepeated && name === 'content'))
      throw new MoveRefused(
        `${path} is there already. Name a folder without a ledger, or move its files elsewhere first.`,
      )
  }
  if (isRepeated) refuseOtherMove(unfinishedMove(paths.ledger))
  for (const path of [paths.content, ...Object.values(paths).map(unfinishedMove)])
    for (const log of ['', '-wal', '-shm', '-journal']) rmSync(`${path}${log}`, { force: true })
}

function refuseOtherMove(path: string): void {
  const connection = connect(path)
  try {
    connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    connection.exec('BEGIN IMMEDIATE')
    connection.exec('COMMIT')
  } catch (error) {
    // If anything else is wrong with it: it is about to be deleted.
    if (sqliteCodeOf(error) === 'SQLITE_BUSY') throw new MoveRefused(`Another move writes to ${basename(path)}.`)
  } finally {
    connection.close()
  }
}

/** Without a log and without waiting for the disk: a file that a kill leaves is deleted by the next move. */
async function createFile(path: string, migrations: readonly Migration[], clock: Clock): Promise<SqliteDriver> {
  await (await open(path, 'wx', 0o600)).close()
  const driver = openDriver({ path, synchronous: 'normal' })
  for (const pragma of ['journal_mode = OFF', 'synchronous = OFF', 'cache_size = -65536'])
    driver.all(`PRAGMA ${pragma}`, [])
  const store = {
    ...NO_WRITES,
    all: (async (sql: string, parameters: readonly SqlValue[]) => driver.all(sql, parameters)) as SqlStore['all'],
    atomic: async (statements: Parameters<SqlStore['atomic']>[0]) => {
      driver.run('BEGIN', [])
      const changed = statements.map(({ sql, rows }) => rows.reduce((sum, row) => sum + driver.run(sql, row), 0))
      driver.run('COMMIT', [])
      return changed
    },
  }
  await migrate(store, migrations, clock)
  return driver
}

/** Counts of the rows are moved with them, or derived below. Returns how the triggers are made again. */
function dropTriggers(driver: SqliteDriver): string[] {
  const triggers = driver.all(`SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY rowid`, [])
  for (const { name } of triggers) driver.run(`DROP TRIGGER ${name}`, [])
  return triggers.map(({ sql }) => String(sql))
}

/** Columns of SQLite alone. `derive` finds the receipt; nothing was carried over from before there were counters. */
const ADDED: Readonly<Record<string, readonly (readonly [column: string, value: string])[]>> = {
  spend_counters: [
    ['first_receipt', '0'],
    ['carried_nano', '0'],
  ],
}

function insertRows(driver: SqliteDriver, { name, columns }: MovedTable, rows: readonly TextRow[]): void {
  const added = ADDED[name] ?? []
  const names = [...columns.map((column) => column.name), ...added.map(([column]) => column)]
  const values = [
    ...columns.map(({ kind }) => (IS_INTEGER.has(kind) ? 'CAST(? AS INTEGER)' : '?')),
    ...added.map(([, value]) => value),
  ]
  const sql = `INSERT INTO ${name} (${names.join(', ')}) VALUES (${values.join(', ')})`
  const bytes = columns.flatMap(({ kind }, place) => (kind === 'bytes' ? [place] : []))
  for (const row of rows) {
    const bound: SqlValue[] = [...row]
    for (const place of bytes) {
      const hex = row[place]
      if (hex != null) bound[place] = Buffer.from(hex, 'hex')
    }
    driver.run(sql, bound)
  }
}

const IS_INTEGER: ReadonlySet<ColumnKind> = new Set(['number', 'truth', 'span'])

/** The receipt with which the running period of a spend cap began: PostgreSQL knows only its time. */
const FIRST_RECEIPTS = [
  'UPDATE spend_counters SET first_receipt = (SELECT COALESCE(MAX(row), 0) + 1 FROM receipts)',
  `UPDATE spend_counters SET first_receipt = counted.first FROM (${COUNTED}) AS counted WHERE counted.counter = row`,
]

const newestTransfer = (ledger: SqliteDriver): readonly SqlValue[] => {
  const [row] = ledger.all(`SELECT row, at FROM transfers WHERE unit = 'usd' ORDER BY row DESC LIMIT 1`, [])
  return [row?.row ?? 0, row?.at ?? 0]
}
