import { constants, copyFileSync, statSync, truncateSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { assertNever } from '../../lib/types.ts'
import {
  type ArchiveStep,
  type AtomicStatement,
  isOfTheData,
  SqlFailure,
  type SqlValue,
  UnexpectedChanges,
} from '../sql-store.ts'
import { openDriver, type SqliteDriver } from './connection.ts'
import { type PackedError, packError } from './failure.ts'
import {
  AUTOCHECKPOINT_PAGES,
  OPENED,
  type StatementGroup,
  type WorkerReply,
  type WorkerRequest,
  type WorkerSettings,
  type WorkerTask,
} from './worker-messages.ts'

/**
 * The worker that owns one database file. Each task runs to its end before the next message is read, so a read never meets
 * an open transaction.
 */
const port = parentPort
if (port === null) throw new Error('This file is the body of a worker thread')

const { path } = workerData as WorkerSettings

const reply = (message: WorkerReply): void => port.postMessage(message)

function perform(driver: SqliteDriver, task: WorkerTask) {
  switch (task.kind) {
    case 'all':
      if (archive !== undefined && CHECKPOINT.test(task.sql)) tryToCutLog(driver, archive)
      return driver.all(task.sql, task.parameters)
    case 'atomic':
      return inTransaction(driver, () => task.statements.map((each, index) => runStatement(driver, each, index)))
    case 'each':
      return inTransaction(driver, () => runEach(driver, task.groups))
    case 'archive':
      return archiveLog(driver, task.step)
    case 'close':
      driver.close()
      return null
    default:
      return assertNever(task)
  }
}

/** Moves committed pages from the log into the file. */
const CHECKPOINT = /^PRAGMA wal_checkpoint/
const EMPTY_LOG = 'PRAGMA wal_checkpoint(TRUNCATE)'
/** https://www.sqlite.org/fileformat2.html#walformat */
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

let archive: LogArchive | undefined

interface LogArchive {
  readonly into: string
  parts: number
  /** Something is missing in the archive: the disk was full. */
  failure?: unknown
}

/**
 * A copy of a file that is written meanwhile is not of one moment; with all that left the log meanwhile, in order, it is. So
 * every checkpoint is preceded by a copy of the log, here, where nothing is committed in between. Returns how many copies there
 * are. They are on the disk of the file: another one that hangs would hold up every commit.
 */
function archiveLog(driver: SqliteDriver, step: ArchiveStep): number {
  switch (step.kind) {
    case 'begin':
      driver.all('PRAGMA wal_autocheckpoint = 0', [])
      driver.all(EMPTY_LOG, [])
      archive = { into: step.into, parts: 0 }
      return 0
    case 'cut':
      if (archive === undefined) throw new Error('The log is not archived')
      tryToCutLog(driver, archive)
      if (archive.failure !== undefined) throw archive.failure
      return archive.parts
    case 'end':
      archive = undefined
      driver.all(`PRAGMA wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`, [])
      return 0
    default:
      return assertNever(step)
  }
}

/** The log is emptied even if it could not be archived: a broken backup must not hold up the file. */
function tryToCutLog(driver: SqliteDriver, archive: LogArchive): void {
  const log = `${path}-wal`
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) === 0) return
  // After the last commit there may be pages of a large transaction that was rolled back.
  const [committed] = driver.all('PRAGMA wal_checkpoint(PASSIVE)', []) as { log: number }[]
  const [page] = driver.all('PRAGMA page_size', []) as { page_size: number }[]
  if (committed!.log > 0) {
    archive.parts += 1
    try {
      const part = `${archive.into}${archive.parts}`
      copyFileSync(log, part, constants.COPYFILE_FICLONE)
      truncateSync(part, LOG_HEADER_BYTES + committed!.log * (FRAME_HEADER_BYTES + page!.page_size))
    } catch (error) {
      archive.failure ??= error
    }
  }
  driver.all(EMPTY_LOG, [])
}

try {
  const driver = openDriver(workerData as WorkerSettings)
  reply({ id: OPENED, kind: 'done', value: driver.name })
  port.on('message', ({ id, task }: WorkerRequest) => {
    try {
      reply({ id, kind: 'done', value: perform(driver, task) })
    } catch (error) {
      reply({ id, kind: 'failed', failure: packError(error) })
    }
    // Without the port nothing keeps the thread alive.
    if (task.kind === 'close') port.close()
  })
} catch (error) {
  reply({ id: OPENED, kind: 'failed', failure: packError(error) })
  port.close()
}

function inTransaction<Result>(driver: SqliteDriver, work: () => Result): Result {
  driver.run('BEGIN IMMEDIATE', [])
  try {
    const result = work()
    driver.run('COMMIT', [])
    return result
  } catch (error) {
    rollBack(driver)
    throw error
  }
}

/** Runs each group in a savepoint, and returns the error of each group that failed alone. */
function runEach(driver: SqliteDriver, groups: readonly StatementGroup[]): (PackedError | undefined)[] {
  const failedBefore = new Map<number, PackedError>()
  return groups.map((group) => {
    const failure = failedBefore.get(group.about) ?? runGroup(driver, group)
    if (failure !== undefined) failedBefore.set(group.about, failure)
    return failure
  })
}

function runGroup(driver: SqliteDriver, { statements }: StatementGroup): PackedError | undefined {
  driver.run('SAVEPOINT each', [])
  let failure: PackedError | undefined
  try {
    statements.forEach((statement, index) => void runStatement(driver, statement, index))
  } catch (error) {
    if (!isOfTheData(error)) throw error
    driver.run('ROLLBACK TO each', [])
    failure = packError(error)
  }
  driver.run('RELEASE each', [])
  return failure
}

function runStatement(driver: SqliteDriver, statement: AtomicStatement, index: number): number {
  try {
    return runRows(driver, statement, index)
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error
    throw new SqlFailure(error.message, error.code, index, { cause: error })
  }
}

function runRows(driver: SqliteDriver, { sql, rows, several, expectChanges }: AtomicStatement, index: number): number {
  let total = 0
  for (let done = 0; done < rows.length; ) {
    const count = (several && ROWS_IN_ONE_RUN.find((size) => size <= rows.length - done)) ?? 1
    const text = several && count > 1 ? textFor(several, count) : sql
    const changes = driver.run(text, count > 1 ? inOneRow(rows.slice(done, done + count)) : rows[done]!)
    if (expectChanges !== undefined && changes !== expectChanges * count) {
      throw new UnexpectedChanges(
        `Statement ${index} changed ${changes} rows instead of ${expectChanges * count}: ${sql}`,
      )
    }
    total += changes
    done += count
  }
  return total
}

/** Few sizes, so that few texts are prepared. Measured: fewer or more rows gain nothing. */
const ROWS_IN_ONE_RUN = [16, 8, 4]

/** By statement, then by the number of rows. All such statements are constants, so there are few. */
const texts = new Map<string, string[]>()

function textFor({ sql, each }: NonNullable<AtomicStatement['several']>, count: number): string {
  const ofStatement = texts.get(sql) ?? []
  const text = ofStatement[count] ?? sql.replace(each, () => Array(count).fill(each).join(', '))
  ofStatement[count] = text
  texts.set(sql, ofStatement)
  return text
}

/** Checks the lengths: a row of another length would shift the values of all later rows. */
function inOneRow(rows: readonly (readonly SqlValue[])[]): SqlValue[] {
  const width = rows[0]!.length
  const all: SqlValue[] = []
  for (const row of rows) {
    if (row.length !== width) throw new TypeError(`${width} parameters expected, ${row.length} given`)
    for (const value of row) all.push(value)
  }
  return all
}

/** A full disk has already undone the transaction; if one were still open, the next BEGIN would fail. */
function rollBack(driver: SqliteDriver): void {
  try {
    driver.run('ROLLBACK', [])
  } catch (error) {
    if (!(error instanceof SqlFailure)) throw error
  }
}
