import { pause } from '../../lib/async.ts'
import { POSTGRES_BODIES, POSTGRES_MANY } from '../content/bodies.ts'
import {
  type AtomicStatement,
  SqlFailure,
  type SqlRow,
  type SqlStore,
  type SqlValue,
  smallInteger,
  UnexpectedChanges,
} from '../sql-store.ts'
import { asFailure, inTransaction, type PostgresConnections, type PostgresPool } from './pool.ts'
import { FUNCTIONS_SCHEMA, TABLE_NAMES, TABLES_SCHEMA } from './schema.ts'
import { createTranslator } from './translate.ts'

interface StoreOptions {
  readonly pool: PostgresConnections
  /** e.g. `PostgreSQL 17.6`. */
  readonly driver: string
  /**
   * `serializable`: lists of statements take effect one after the other, as in a file. `read-committed`: for lists that only
   * depend on rows with unique names.
   */
  readonly isolation: 'serializable' | 'read-committed'
}

/** A list that met a concurrent one is undone and tried again. With each attempt fewer lists are left. */
const ATTEMPTS_MAX = 20
const CONFLICT = /^40/

/** The tables of the files in PostgreSQL, for queries that both databases share. */
export function createPostgresStore({ pool, driver, isolation }: StoreOptions): SqlStore {
  const translate = createTranslator({
    tables: new Set(TABLE_NAMES),
    tablesSchema: TABLES_SCHEMA,
    functionsSchema: FUNCTIONS_SCHEMA,
    spelled: POSTGRES_BODIES,
  })
  const begin = `BEGIN ISOLATION LEVEL ${isolation === 'serializable' ? 'SERIALIZABLE' : 'READ COMMITTED'}`
  const runOnce = (statements: readonly AtomicStatement[]): Promise<number[]> =>
    inTransaction(pool, begin, async (transaction) => {
      const changed: number[] = []
      for (const [place, statement] of statements.entries()) {
        changed.push(await run(transaction, translate, statement, place))
      }
      return changed
    })
  return {
    driver,
    async all(sql, parameters) {
      const values = parameters.map(bindable)
      return rowsOf(await ask(pool, translate(sql, values), values)) as never[]
    },
    async atomic(statements) {
      if (statements.every(({ rows }) => rows.length === 0)) return statements.map(() => 0)
      for (let attempt = 1; ; attempt++) {
        try {
          return await runOnce(statements)
        } catch (error) {
          const failure = asFailure(error)
          if (!(failure instanceof SqlFailure) || !CONFLICT.test(failure.code) || attempt === ATTEMPTS_MAX)
            throw failure
        }
        await pause(2 * attempt)
      }
    },
    // The opener of the pool closes it.
    close: async () => {},
  }
}

type Translate = ReturnType<typeof createTranslator>
type Answer = Awaited<ReturnType<PostgresPool['query']>>

async function run(
  transaction: PostgresPool,
  translate: Translate,
  { sql, rows, several, expectChanges }: AtomicStatement,
  place: number,
): Promise<number> {
  if (rows.length === 0) return 0
  const bound = rows.map((row) => row.map(bindable))
  const wanted = expectChanges === undefined ? undefined : expectChanges * rows.length
  const many = POSTGRES_MANY.get(sql)
  let changed = 0
  if (several !== undefined && rows.length > 1 && isOfOneType(bound)) {
    const width = Math.max(1, Math.floor(PARAMETERS_MAX / bound[0]!.length))
    for (let at = 0; at < bound.length; at += width) {
      const some = bound.slice(at, at + width)
      const text = several.sql.replace(several.each, () => some.map(() => several.each).join(', '))
      changed += (await ask(transaction, translate(text, some.flat()), some.flat(), place)).rowCount ?? 0
    }
  } else if (many !== undefined && rows.length > 1) {
    for (const some of slicesOf(bound)) {
      const lists = bound[0]!.map((_, column) => some.map((row) => row[column]!))
      changed += (await ask(transaction, translate(many, []), lists, place)).rowCount ?? 0
    }
  } else {
    for (const row of bound) changed += (await ask(transaction, translate(sql, row), row, place)).rowCount ?? 0
  }
  if (wanted !== undefined && changed !== wanted) {
    throw new UnexpectedChanges(`Statement ${place} changed ${changed} rows instead of ${wanted}`)
  }
  return changed
}

/** PostgreSQL counts parameters in 16 bits. */
const PARAMETERS_MAX = 10_000

/** Lists are written as text, bytes twice as long. */
const SLICE_BYTES_MAX = 1024 * 1024
const SLICE_ROWS_MAX = 1000

function* slicesOf(rows: readonly (readonly SqlValue[])[]): Iterable<readonly (readonly SqlValue[])[]> {
  let slice: (readonly SqlValue[])[] = []
  let bytes = 0
  for (const row of rows) {
    slice.push(row)
    for (const value of row) bytes += value instanceof Uint8Array ? value.length : 0
    if (bytes < SLICE_BYTES_MAX && slice.length < SLICE_ROWS_MAX) continue
    yield slice
    slice = []
    bytes = 0
  }
  if (slice.length > 0) yield slice
}

/** Rows of one VALUES list share their types; a null among numbers has none. */
const isOfOneType = (rows: readonly (readonly SqlValue[])[]): boolean =>
  rows.every((row) => row.every((value) => value !== null))

async function ask(
  db: PostgresPool,
  text: string,
  values: readonly (SqlValue | SqlValue[])[],
  place?: number,
): Promise<Answer> {
  try {
    return await db.query(text, values)
  } catch (error) {
    throw asFailure(error, place)
  }
}

const NO_BYTES = Buffer.alloc(0)

function bindable(value: SqlValue): SqlValue {
  if (typeof value === 'string' && value.includes('\0')) throw new TypeError('A text with a NUL cannot be stored')
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
    throw new RangeError(`${value} cannot be stored exactly`)
  if (value instanceof Uint8Array && !Buffer.isBuffer(value))
    return value.length === 0 ? NO_BYTES : Buffer.from(value.buffer, value.byteOffset, value.length)
  return value
}

/** Converts the rows in place, by the two conventions in db/tables.ts. */
function rowsOf({ rows }: Answer): SqlRow[] {
  const columns = Object.keys(rows[0] ?? {})
  for (const row of rows as Record<string, unknown>[]) {
    for (const column of columns) {
      const value = row[column]
      if (typeof value === 'bigint' && !column.endsWith('_nano')) row[column] = smallInteger(column, value)
    }
  }
  return rows as SqlRow[]
}

const OID = { bool: 16, int8: 20, numeric: 1700, int8Array: 1016 } as const

/**
 * How the driver reads values, so that rows look like those of SQLite: integers are bigint, truths are 0 and 1, and a list of
 * numbers is JSON.
 */
const PARSERS: Readonly<Record<number, (text: string) => SqlValue>> = {
  [OID.bool]: (text) => (text === 't' ? 1 : 0),
  [OID.int8]: BigInt,
  [OID.numeric]: (text) => (text.includes('.') ? Number(text) : BigInt(text)),
  [OID.int8Array]: (text) => `[${text.slice(1, -1)}]`,
}

type TypeParser = (text: string) => unknown

/** The `types` option of `pg`, over its own parsers. */
export const storeTypes = (builtIn: { getTypeParser(oid: number, format?: string): TypeParser }) => ({
  getTypeParser: (oid: number, format?: string): TypeParser => PARSERS[oid] ?? builtIn.getTypeParser(oid, format),
})
