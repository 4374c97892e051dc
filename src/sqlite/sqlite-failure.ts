/** SQLite's extended result codes that somebody decides on; the drivers spell them differently, or not at all. */
const NAMES: Readonly<Record<number, string>> = {
  5: 'SQLITE_BUSY',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
  275: 'SQLITE_CONSTRAINT_CHECK',
  787: 'SQLITE_CONSTRAINT_FOREIGNKEY',
  1299: 'SQLITE_CONSTRAINT_NOTNULL',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  1811: 'SQLITE_CONSTRAINT_TRIGGER',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
  2579: 'SQLITE_CONSTRAINT_ROWID',
  3091: 'SQLITE_CONSTRAINT_DATATYPE',
}

/** What the database itself refused: a broken constraint, bad SQL, a full disk. The name of the code is stable. */
export class SqliteFailure extends Error {
  override readonly name = 'SqliteFailure'
  /** e.g. `SQLITE_CONSTRAINT_UNIQUE`; the plain number's name where it has none here. */
  readonly code: string
  /** Which statement of an atomic list it was, counted from 0. */
  readonly statement: number | undefined

  constructor(message: string, code: string, statement?: number, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.statement = statement
  }
}

/** Another process, or another connection of this one, has the file. */
export class DatabaseLocked extends Error {
  override readonly name = 'DatabaseLocked'
  readonly path: string

  constructor(path: string, options?: ErrorOptions) {
    super(`The database ${path} is in use by another process. Only one may have it open at a time.`, options)
    this.path = path
  }
}

/** node:sqlite says `errcode`, libsql `rawCode`; anything without either did not come from SQLite. */
export function sqliteCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown }
  const number = typeof errcode === 'number' ? errcode : rawCode
  if (typeof number !== 'number') return undefined
  return NAMES[number] ?? NAMES[number & 0xff] ?? `SQLITE_${number}`
}

/** Whether a failure says that a row with the same unique value, or the same key, is already there. */
export const isAlreadyThere = (error: unknown): error is SqliteFailure =>
  error instanceof SqliteFailure &&
  (error.code === 'SQLITE_CONSTRAINT_UNIQUE' || error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY')
