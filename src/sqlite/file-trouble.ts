import { SqliteFailure } from './sqlite-failure.ts'

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
