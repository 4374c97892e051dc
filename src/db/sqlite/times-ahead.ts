import type { SqliteFile, SqlRow, SqlValue } from './sqlite-file.ts'

/** What ledger time is set back from and to. */
export interface SetBack {
  readonly from: number
  readonly to: number
}

/**
 * Rows of one table with times that lie after `to`, which only a clock that ran ahead can have written, and how they are
 * put right. `where` sees `to` as `?3` and `from` as `?4`.
 */
export interface TimesAhead {
  /** What they are called in reports. */
  readonly what: string
  readonly table: string
  /** Names one row. */
  readonly key: string
  /** The indexed column of whole numbers that slices are cut by; left out, it is the key. */
  readonly slicedBy?: string
  /** Which rows slices are cut from; an index with exactly these makes that cheap. */
  readonly among?: string
  /** How many rows a slice has, where they may be large. */
  readonly sliceRows?: number
  /** What is put right. */
  readonly columns: readonly string[]
  /** What has to be known beside that. */
  readonly reads?: readonly string[]
  readonly where: string
  /** New values of the columns; undefined where nobody can know them, and a person has to look. */
  readonly repair?: (row: SqlRow, setBack: SetBack) => Readonly<Record<string, SqlValue>>
}

/** A few milliseconds of the thread that has the file. */
const SLICE_ROWS = 1000

/** All rows with such times, slice by slice: whoever else asks the file has a turn between two of them. */
export async function* listTimesAhead(
  file: Pick<SqliteFile, 'all'>,
  { table, key, slicedBy = key, among = 'TRUE', sliceRows = SLICE_ROWS, columns, reads = [], where }: TimesAhead,
  { from, to }: SetBack,
): AsyncGenerator<SqlRow[]> {
  const sliceEnd = `SELECT ${slicedBy} AS place FROM ${table} WHERE ${among} AND ${slicedBy} > ?
    ORDER BY ${slicedBy} LIMIT 1 OFFSET ${sliceRows - 1}`
  const inSlice = `SELECT ${[key, ...columns, ...reads].join(', ')} FROM ${table}
    WHERE ${among} AND ${slicedBy} > ?1 AND ${slicedBy} <= ?2 AND ?3 < ?4 AND (${where})`
  for (let after = Number.MIN_SAFE_INTEGER; after < Number.MAX_SAFE_INTEGER; ) {
    const [slice] = await file.all<{ place: number }>(sliceEnd, [after])
    const last: number = slice?.place ?? Number.MAX_SAFE_INTEGER
    const rows = await file.all(inSlice, [after, last, to, from])
    if (rows.length > 0) yield rows
    after = last
  }
}

/** Puts them right and returns how many there were. Doing it twice changes nothing more. */
export async function repairTimesAhead(
  file: Pick<SqliteFile, 'all' | 'atomic'>,
  ahead: TimesAhead,
  setBack: SetBack,
): Promise<number> {
  const { table, key, columns, repair } = ahead
  if (repair === undefined) return 0
  const sql = `UPDATE ${table} SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE ${key} = ?`
  let repaired = 0
  for await (const rows of listTimesAhead(file, ahead, setBack)) {
    const values = rows.map((row) => {
      const { [key]: name } = row
      const changed = { ...row, ...repair(row, setBack) }
      return [...columns.map((column) => changed[column]!), name!]
    })
    await file.atomic([{ sql, rows: values }])
    repaired += rows.length
  }
  return repaired
}
