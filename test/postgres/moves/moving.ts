import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { moveLedger } from '../../../src/app/move-ledger.ts'
import type { MoveOutcome, MoveReport } from '../../../src/cli/cli-services.ts'
import { loadSettings } from '../../../src/config/load-config.ts'
import { connect } from '../../../src/db/sqlite/connection.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { asAdmin, dropDatabase, postgresUrl } from '../../support/server-on-postgres.ts'
import { CONFIG } from './filled-server.ts'

let made = 0

/** Folders and databases that are removed together. */
export function createPlaces() {
  const folders: string[] = []
  const databases: string[] = []
  return {
    async folder(): Promise<string> {
      folders.push(await mkdtemp(join(tmpdir(), 'millrace-move-')))
      return folders.at(-1)!
    },
    async database(): Promise<string> {
      const name = `move_${process.pid}_${++made}`
      await asAdmin(`CREATE DATABASE ${name}`)
      databases.push(name)
      return name
    },
    async clear(): Promise<void> {
      for (const each of databases) await dropDatabase(each)
      for (const each of folders) await rm(each, { recursive: true, force: true })
    },
  }
}

export interface MoveFrom {
  /** Undefined: from the files of the folder. */
  readonly database?: string | undefined
  readonly config?: string
}

export const configOf = (folder: string, { database, config = CONFIG }: MoveFrom = {}): Promise<void> =>
  writeFile(
    join(folder, 'move.yaml'),
    database === undefined ? config : `${config}storage: { database: "${postgresUrl(database)}" }\n`,
  )

/** As the command does, without fsync. */
export async function move(folder: string, to: string, from?: MoveFrom): Promise<MoveOutcome> {
  await configOf(folder, from)
  const context = { environment: { HOME: folder }, cwd: folder }
  const services = {
    ...{ program: 'millrace', cwd: folder, clock: systemClock, mayLoseCommits: true },
    loadSettings: (flags: Parameters<typeof loadSettings>[1]) => loadSettings(context, flags),
  }
  return moveLedger(services, { config: 'move.yaml', data: '.' }, { to, onStep() {} })
}

export async function moved(...args: Parameters<typeof move>): Promise<MoveReport> {
  const outcome = await move(...args)
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return outcome.report
}

/** Of the files of a ledger. */
export async function bytesOf(folder: string): Promise<string> {
  const hash = createHash('sha256')
  for (const name of (await readdir(folder)).filter((each) => /\.(?:db|json|journal)$/.test(each)).sort())
    hash.update(name).update(await readFile(join(folder, name)))
  return hash.digest('hex')
}

/** When the schema was made, what is proved, and the position of the ledger at the last write of content.db. */
const NOT_COMPARED = /^(?:migrations|marks|proved_\w+|sqlite_\w+|of_ledger)$/

/** Every row of both files, by its table. */
export function rowsOf(folder: string): Readonly<Record<string, readonly string[]>> {
  const tables: Record<string, string[]> = {}
  for (const name of ['ledger.db', 'content.db']) {
    const file = connect(join(folder, name))
    for (const { name: table } of file.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all([])) {
      if (NOT_COMPARED.test(String(table))) continue
      const columns = file.prepare(`SELECT name FROM pragma_table_info('${table}')`).all([])
      // The numbers of counters say nothing.
      const names = columns
        .map((column) => String(column.name))
        .filter((column) => `${table}.${column}` !== 'spend_counters.row')
      const line = names.map((column) => `quote(${column})`).join(` || ',' || `)
      tables[`${table}`] = file
        .prepare(`SELECT ${line} AS line FROM ${table} ORDER BY 1`)
        .all([])
        .map((row) => String(row.line))
    }
    file.close()
  }
  return tables
}
