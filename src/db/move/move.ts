import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { countJournaled } from '../settle-journal.ts'
import type { LedgerDb } from '../tables.ts'
import { createTally, linesOf, readTable, type TableDigest, type TextDatabase, type TextRow } from './rows.ts'
import { MOVED_TABLES, type MovedTable } from './tables.ts'

interface MoveSide {
  readonly kind: 'sqlite' | 'postgres'
  readonly text: TextDatabase
  /** An end that was not finished leaves a target that nothing starts on. */
  close(): Promise<void>
}

/** A ledger at rest. Nothing writes to it until it is closed. */
export interface MoveSource extends MoveSide {
  /** The id of the ledger. */
  readonly ledger: string
  /** The id of the key that it was begun with. */
  readonly sealedBy: string | undefined
  /** The newest time in it. */
  readonly latestMs: number
}

export interface MoveTarget extends MoveSide {
  /** For the proof. */
  readonly db: LedgerDb
  nowMs(): Promise<number>
  write(table: MovedTable, batch: Batch): Promise<void>
  /** Computes what only this database has from the rows that moved. */
  derive(): Promise<void>
  /** PostgreSQL proves its books itself. */
  readonly proveBooks: (() => Promise<BooksReport>) | undefined
  /** Makes it a ledger on which a server starts. */
  finish(): Promise<void>
}

interface Batch {
  readonly rows: readonly TextRow[]
  /** The same rows, as lines of COPY. */
  readonly lines: readonly string[]
}

export interface BooksReport {
  readonly checks: readonly { readonly name: string; readonly violations: number }[]
}

/** A table with the rows of both sides. */
export interface ComparedTable {
  readonly table: string
  readonly rows: number
  readonly equal: boolean
}

/** Copies every table, a bounded number of rows at a time. Returns what was read. */
export async function copyTables(source: MoveSource, target: MoveTarget): Promise<Map<MovedTable, TableDigest>> {
  // PostgreSQL keeps the time there. A ledger whose newest row is in its future would count wrongly until then.
  if (source.latestMs > (await target.nowMs()))
    throw new MoveRefused(
      `The newest row of the ledger is of ${new Date(source.latestMs).toISOString()}, and the clock of the target is behind that. ` +
        'Correct the clocks (millrace db clock shows the ledger), or wait until then.',
    )
  const read = new Map<MovedTable, TableDigest>()
  for (const table of MOVED_TABLES) {
    const tally = createTally(createHash('sha256'))
    // The target writes a batch while the next one is read.
    let writing: Promise<void> = Promise.resolve()
    for await (const rows of readTable(source.text, table)) {
      const lines = linesOf(table, rows)
      tally.add(lines)
      await writing
      writing = target.write(table, { rows, lines })
      writing.catch(() => {})
    }
    await writing
    read.set(table, tally.end())
  }
  await target.derive()
  return read
}

/** Reads every table of the target back, and compares it with what the source had. */
export async function compareTables(
  target: MoveTarget,
  read: ReadonlyMap<MovedTable, TableDigest>,
): Promise<ComparedTable[]> {
  const compared: ComparedTable[] = []
  for (const [table, { rows, digest }] of read) {
    const tally = createTally(createHash('sha256'))
    for await (const found of readTable(target.text, table)) tally.add(linesOf(table, found))
    const written = tally.end()
    compared.push({ table: table.name, rows, equal: written.rows === rows && written.digest === digest })
  }
  return compared
}

/** The move was not begun, or not ended. The message tells the operator what to do. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused'
}

export const START_ONCE = 'Start the server there once and stop it, and try again.'

/** Ends of turns that the ledger does not have yet would be charged in the old place only. */
export async function refuseJournaled(folder: string): Promise<void> {
  const journaled = await countJournaled(join(folder, 'settles.journal'))
  if (journaled === 'damaged') throw new MoveRefused(`settles.journal in ${folder} is damaged. ${START_ONCE}`)
  if (journaled > 0)
    throw new MoveRefused(
      `settles.journal in ${folder} has ends that are not in the ledger yet (${journaled}). ${START_ONCE}`,
    )
}
