import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { createStoreDialect } from '../../src/db/kysely-dialect.ts'
import { openDatabase } from '../../src/db/open-database.ts'
import { oneReadAtATime } from '../../src/db/sqlite/open-sqlite.ts'
import type { LedgerDb, LedgerTables } from '../../src/db/tables.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { rememberSent, type SentStatements } from '../fixtures/db/sqlite/remember-sent.ts'

/** Every text that was sent to the books of a server of this process, with the values of the first time. */
const sent: SentStatements = new Map()
/** Those that need not be explained again: a process runs many files, and most of what they send is the same. */
const explained = new Set<string>()
const unwatched = new WeakMap<LedgerDb, LedgerDb>()

/** As a server opens it, but that all that is asked of it is remembered. */
export const openWatchedDatabase: typeof openDatabase = async (options) => {
  const database = await openDatabase(options)
  const file = rememberSent(database.file, sent)
  const db = new Kysely<LedgerTables>({ dialect: createStoreDialect(file) })
  const lowPriorityDb = new Kysely<LedgerTables>({ dialect: createStoreDialect(oneReadAtATime(file, options.clock)) })
  unwatched.set(db, database.db)
  unwatched.set(lowPriorityDb, database.lowPriorityDb)
  return { ...database, file, db, lowPriorityDb }
}

/** For the queries of a test itself, whose plans do not matter. */
export const unwatchedDb = (db: LedgerDb): LedgerDb => unwatched.get(db) ?? db

/** A statement, and how the database goes about it. */
export interface ExplainedStatement {
  readonly sql: string
  readonly steps: readonly string[]
}

/**
 * How everything is answered that was sent since the last time. An empty file with the same tables is asked: plans do not depend on
 * what is in them, and libsql does not end an explained UPDATE, which would keep a real file from committing.
 */
export async function explainSent(): Promise<ExplainedStatement[]> {
  const fresh = [...sent].filter(([sql]) => !explained.has(sql))
  if (fresh.length === 0) return []
  const folder = await mkdtemp(join(tmpdir(), 'millrace-plans-'))
  const { file, close } = await openDatabase({ path: join(folder, 'ledger.db'), clock: systemClock })
  try {
    return await Promise.all(
      fresh.map(async ([sql, parameters]) => {
        explained.add(sql)
        const plan = await file.all(`EXPLAIN QUERY PLAN ${sql}`, parameters)
        return { sql, steps: plan.map(({ detail }) => String(detail)) }
      }),
    )
  } finally {
    await close()
    await rm(folder, { recursive: true })
  }
}
