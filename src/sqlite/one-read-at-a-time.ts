import type { SqliteFile } from './sqlite-file.ts'

/**
 * The same file for those who can wait: of all that they read, one thing at a time is asked of its thread. So whatever is
 * written waits for one of their questions at most, however many people ask.
 */
export function oneReadAtATime(file: SqliteFile): SqliteFile {
  let last: Promise<unknown> = Promise.resolve()
  return {
    driver: file.driver,
    atomic: (statements) => file.atomic(statements),
    close: () => file.close(),
    all(sql, parameters) {
      const mine = last.then(() => file.all(sql, parameters))
      last = mine.catch(() => {})
      return mine
    },
  }
}
