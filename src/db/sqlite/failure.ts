import { UnexpectedChanges } from './sqlite-file.ts'

/** SQLite's extended result codes that somebody decides on; the drivers spell them differently, or not at all. */
const NAMES: Readonly<Record<number, string>> = {
  2: 'SQLITE_INTERNAL',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  9: 'SQLITE_INTERRUPT',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
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

/** What the file or the machine refuses, whatever is to be written. Other codes are about the statement that met them. */
const FILE_CODES = /^SQLITE_(BUSY|LOCKED|NOMEM|READONLY|INTERRUPT|IOERR|CORRUPT|FULL|CANTOPEN|PROTOCOL|NOTADB|INTERNAL)/

/** Whether a failure is about what was to be written: the same file takes other rows. */
export const isOfTheData = (error: unknown): boolean =>
  error instanceof UnexpectedChanges ||
  error instanceof TypeError ||
  error instanceof RangeError ||
  (error instanceof SqliteFailure && !FILE_CODES.test(error.code))

/** Whether a failure says that a row with the same unique value, or the same key, is already there. */
export const isAlreadyThere = (error: unknown): error is SqliteFailure =>
  error instanceof SqliteFailure &&
  (error.code === 'SQLITE_CONSTRAINT_UNIQUE' || error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY')

/** SQLite's name for what went wrong, wherever in the chain of causes it stands; or that of the system. */
function codeOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof SqliteFailure) return cause.code
    const { code } = cause as NodeJS.ErrnoException
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return code
  }
  return undefined
}

/** Whether the bytes of the file are wrong: waiting, or another right, mends nothing. */
export function isDamage(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB'
}

/** What the operator has to know of a database file that cannot be opened; undefined where it is nothing of the file. */
export function describeTrouble(path: string, error: unknown): string | undefined {
  const damage = 'Restore it from a backup; keep this file until that has worked.'
  switch (codeOf(error)) {
    case 'SQLITE_NOTADB':
      return `${path} is not a database, or its first page is damaged. ${damage}`
    case 'SQLITE_CORRUPT':
      return `${path} is damaged. ${damage}`
    case 'SQLITE_FULL':
    case 'ENOSPC':
    case 'EDQUOT':
      return `The disk of ${path} is full. Make room, and start again.`
    case 'SQLITE_READONLY':
    case 'SQLITE_CANTOPEN':
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return `${path} cannot be opened for writing. Give the user that runs Millrace the right to write this file and its folder.`
    case 'SQLITE_IOERR':
    case 'EIO':
      return `${path} cannot be read from its disk. Check the disk, then restore the file from a backup if it is damaged.`
    default:
      return undefined
  }
}
