import type { SqlRow, SqlValue } from './sqlite-file.ts'

/** Node 22 stores a blob without memory of its own as NULL; one that is a part of something is stored as what it is. */
const NO_BYTES = new Uint8Array(new ArrayBuffer(1), 0, 0)

/**
 * A value as both libraries store it alike. JavaScript's numbers would be bound as REAL, so whole ones go as BigInt.
 * The types are checked although the compiler has done so: libsql takes the whole process down on a boolean, stores
 * undefined as null, and cuts a text at its first NUL.
 */
export function bindable(value: SqlValue): SqlValue {
  switch (typeof value) {
    case 'bigint':
      return value
    case 'string':
      if (value.includes('\0')) throw new TypeError('A text with a NUL cannot be stored')
      return value
    case 'number':
      if (Number.isSafeInteger(value)) return BigInt(value)
      if (Number.isInteger(value) || !Number.isFinite(value)) throw new RangeError(`${value} cannot be stored exactly`)
      return value
    default:
      if (value instanceof Uint8Array) return value.length === 0 ? NO_BYTES : value
      if (value === null) return value
      throw new TypeError(`A ${typeof value} cannot be stored`)
  }
}

const LITERALS_AND_COMMENTS = /'[^']*'|"[^"]*"|--[^\n]*|\/\*[\s\S]*?\*\//g

/** How many values a statement takes: `?` is the next one, `?3` the third. */
export function countPlaceholders(sql: string): number {
  let count = 0
  for (const [, position] of sql.replace(LITERALS_AND_COMMENTS, '').matchAll(/\?(\d*)/g)) {
    count = position === '' ? count + 1 : Math.max(count, Number(position))
  }
  return count
}

/** Turns what a library read, in place, into what the house works with: see the two conventions in store/tables. */
export function readRows(rows: Record<string, unknown>[]): SqlRow[] {
  const first = rows[0]
  if (first === undefined) return []
  const columns = Object.keys(first)
  for (const row of rows) {
    for (const column of columns) {
      const value = row[column]
      if (typeof value === 'bigint') {
        if (!column.endsWith('_nano')) row[column] = smallInteger(column, value)
      } else if (value instanceof ArrayBuffer) {
        row[column] = new Uint8Array(value)
      }
    }
  }
  return rows as SqlRow[]
}

function smallInteger(column: string, value: bigint): number {
  const number = Number(value)
  if (!Number.isSafeInteger(number)) {
    throw new RangeError(`${column} is ${value}, too large for a number; money is read from columns named *_nano`)
  }
  return number
}
