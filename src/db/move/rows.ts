import type { Hash } from 'node:crypto'
import type { ColumnKind, MovedColumn, MovedTable } from './tables.ts'

/** A row as text, in the order of the columns of its table. */
export type TextRow = readonly (string | null)[]

/** One of the two databases of a move, read as text. */
export interface TextDatabase {
  readonly words: Words
  query(sql: string, parameters: readonly string[], file: MovedTable['file']): Promise<TextRow[]>
}

/** What the two databases spell differently. */
export interface Words {
  /** A column as its text. */
  textOf(column: MovedColumn): string
  /** The table in a query. */
  named(table: string): string
  /** The parameter at a place from 1, of the kind of a key. */
  parameter(place: number, kind: ColumnKind): string
  /** A column of text orders and compares by its bytes. */
  ordered(column: MovedColumn): string
}

const ROWS_AT_ONCE = 2000
/** Of rows with large values so many are looked at, and so many bytes of them read at once. */
const BULKY_ROWS_AT_ONCE = 200
const BULKY_BYTES_AT_ONCE = 4 * 1024 * 1024

/** All rows of a table by its key, in batches of bounded size. */
export async function* readTable(db: TextDatabase, table: MovedTable): AsyncGenerator<TextRow[]> {
  const keys = keyColumns(table)
  for (let after: readonly string[] = []; ; ) {
    const limit = table.isBulky ? await countThatFit(db, table, after) : ROWS_AT_ONCE
    if (limit === 0) return
    const rows = await db.query(selectAfter(db.words, table, { after, limit }), after, table.file)
    if (rows.length > 0) yield rows
    if (rows.length < limit) return
    after = keys.map((key) => rows.at(-1)![table.columns.indexOf(key)]!)
  }
}

const keyColumns = ({ key, columns }: MovedTable): MovedColumn[] =>
  key.map((name) => columns.find((column) => column.name === name)!)

interface Page {
  readonly after: readonly string[]
  readonly limit: number
  /** Undefined: the columns of the table. */
  readonly select?: string
}

function selectAfter(words: Words, table: MovedTable, { after, limit, select }: Page): string {
  // Named by their places: a name of a column would stand for its text in ORDER BY.
  const columns = select ?? table.columns.map((column, place) => `${words.textOf(column)} AS c${place}`).join(', ')
  const from = table.from?.replace('%', words.named(table.name)) ?? words.named(table.name)
  const keys = keyColumns(table)
  const [ordered, parameters] = [
    keys.map(words.ordered).join(', '),
    keys.map(({ kind }, place) => words.parameter(place + 1, kind)).join(', '),
  ]
  const conditions = [
    ...(table.where === undefined ? [] : [table.where]),
    ...(after.length === 0 ? [] : [`(${ordered}) > (${parameters})`]),
  ]
  const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  return `SELECT ${columns} FROM ${from} AS moved ${where} ORDER BY ${ordered} LIMIT ${limit}`
}

/** How many of the next rows are read at once, at least one; 0 when there are no more. */
async function countThatFit(db: TextDatabase, table: MovedTable, after: readonly string[]): Promise<number> {
  const page = { after, limit: BULKY_ROWS_AT_ONCE, select: 'CAST(length(sealed) AS TEXT) AS c0' }
  const sizes = await db.query(selectAfter(db.words, table, page), after, table.file)
  let bytes = 0
  for (const [place, [size]] of sizes.entries()) {
    bytes += Number(size)
    if (bytes >= BULKY_BYTES_AT_ONCE) return place + 1
  }
  return sizes.length
}

const SPECIAL = /[\\\t\n\r]/g
const ESCAPED: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' }
const escapeText = (text: string): string => text.replace(SPECIAL, (character) => ESCAPED[character]!)

const CELLS: Readonly<Record<ColumnKind, (text: string) => string>> = {
  number: (text) => text,
  text: escapeText,
  bytes: (hex) => `\\\\x${hex}`,
  truth: (digit) => digit,
  list: (json) => `{${json.slice(1, -1)}}`,
  span: (text) => text,
}

/** Each row as a line of PostgreSQL's COPY, which says exactly one thing. */
export function linesOf({ columns }: MovedTable, rows: readonly TextRow[]): string[] {
  const cells = columns.map(({ kind }) => CELLS[kind])
  return rows.map((row) => {
    let line = ''
    for (let place = 0; place < cells.length; place++) {
      const text = row[place]
      if (place > 0) line += '\t'
      line += text == null ? '\\N' : cells[place]!(text)
    }
    return line
  })
}

/** The rows of a table on one side. */
export interface TableDigest {
  readonly rows: number
  readonly digest: string
}

export function createTally(hash: Hash) {
  let rows = 0
  return {
    add(lines: readonly string[]): void {
      rows += lines.length
      hash.update(`${lines.join('\n')}\n`)
    },
    end: (): TableDigest => ({ rows, digest: hash.digest('hex') }),
  }
}
