import { SqlFailure, UnexpectedChanges } from '../sql-store.ts'

/** SQLite's extended result codes that the program acts on. The drivers spell them differently, or not at all. */
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

/** Another process, or another connection of this one, has the file. */
export class DatabaseLocked extends Error {
  override readonly name = 'DatabaseLocked'

  constructor(path: string, options?: ErrorOptions) {
    super(`The database ${path} is in use by another process. Only one may have it open at a time.`, options)
  }
}

/** node:sqlite sets `errcode`, libsql `rawCode`; an error without either did not come from SQLite. */
export function sqliteCodeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { errcode, rawCode } = error as { errcode?: unknown; rawCode?: unknown }
  const number = typeof errcode === 'number' ? errcode : rawCode
  if (typeof number !== 'number') return undefined
  return NAMES[number] ?? NAMES[number & 0xff] ?? `SQLITE_${number}`
}

/** The first code of SQLite or of the system in the chain of causes. */
function codeOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof SqlFailure) return cause.code
    const { code } = cause as NodeJS.ErrnoException
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code)) return code
  }
  return undefined
}

/** Whether the bytes of the file are damaged, so that neither waiting nor other permissions help. */
export function isDamage(error: unknown): boolean {
  const code = codeOf(error)
  return code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB'
}

/** Tells the operator why a database file cannot be opened and what to do. Undefined when the file is not the cause. */
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

/** An error as plain data, because a structured clone loses its class. */
export interface PackedError {
  readonly name: string
  readonly message: string
  readonly stack: string | undefined
  readonly code: string | undefined
  readonly statement: number | undefined
}

export function packError(error: unknown): PackedError {
  const failure = error instanceof Error ? error : new Error(String(error))
  const { code, statement } = failure instanceof SqlFailure ? failure : {}
  return { name: failure.name, message: failure.message, stack: failure.stack, code, statement }
}

/** The error of the worker becomes the cause, so that both stacks can be read. */
export function unpackError(packed: PackedError, path: string): Error {
  const cause = new Error(packed.message)
  cause.name = packed.name
  if (packed.stack !== undefined) cause.stack = packed.stack
  if (packed.name === 'DatabaseLocked') return new DatabaseLocked(path, { cause })
  if (packed.name === 'SqlFailure') {
    return new SqlFailure(packed.message, packed.code ?? 'SQLITE_ERROR', packed.statement, { cause })
  }
  const Same = [UnexpectedChanges, TypeError, RangeError].find(({ name }) => name === packed.name) ?? Error
  return new Same(packed.message, { cause })
}
