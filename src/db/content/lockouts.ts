import { type AtomicStatement, type SqlStore, statement } from '../sql-store.ts'
import type { ContentServices } from './open-content.ts'

/**
 * Sign-in attempts that are used up, and until when, in wall milliseconds. A name that begins with `known:` is the opposite:
 * from where a person has signed in, and until when that is remembered.
 */
export interface KeptLockout {
  readonly name: string
  readonly until: number
}

export type LockoutKeeper = ReturnType<typeof createLockoutKeeper>

/** The most rows of either kind. Beyond, those that end first are dropped, which a restart then forgives. */
const LOCKOUTS_MAX = 10_000

const EXPIRE = 'DELETE FROM lockouts WHERE until <= ?'
const KEEP = `INSERT INTO lockouts (name, until) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until`
const DROP = 'DELETE FROM lockouts WHERE name = ?'
const IS_KNOWN = `name >= 'known:' AND name < 'known;'`
/** Each kind has its own bound, so that short lockouts do not push out what is remembered for months. */
const BOUNDS = [IS_KNOWN, `NOT (${IS_KNOWN})`].map(
  (kind) => `DELETE FROM lockouts WHERE name IN (SELECT name FROM lockouts WHERE ${kind}
    ORDER BY until LIMIT (SELECT CASE WHEN count(*) > ${LOCKOUTS_MAX} THEN count(*) - ${LOCKOUTS_MAX} ELSE 0 END
      FROM lockouts WHERE ${kind}))`,
)

/**
 * Keeps lockouts over restarts, in the background: one write at a time, with everything that has come meanwhile, so that
 * many attempts cost few commits.
 */
export function createLockoutKeeper({ file, now, onFailure }: ContentServices) {
  let waiting = new Map<string, number | undefined>()
  let writing: Promise<void> | undefined

  const writeAll = async () => {
    while (waiting.size > 0) {
      const entries = [...waiting]
      waiting = new Map()
      const statements: AtomicStatement[] = [
        { sql: DROP, rows: entries.filter(([, until]) => until === undefined).map(([name]) => [name]) },
        { sql: KEEP, rows: entries.flatMap(([name, until]) => (until === undefined ? [] : [[name, until]])) },
        statement(EXPIRE, now()),
        ...BOUNDS.map((sql) => statement(sql)),
      ]
      await file.atomic(statements).catch(onFailure)
    }
    writing = undefined
  }
  const note = (name: string, until: number | undefined) => {
    // Not more than the file has room for.
    if (waiting.size < LOCKOUTS_MAX || waiting.has(name)) waiting.set(name, until)
    writing ??= writeAll()
  }
  return {
    keep: ({ name, until }: KeptLockout) => note(name, until),
    drop: (name: string) => note(name, undefined),
    /** Resolves when everything so far is in the file. */
    close: async () => writing,
  }
}

/** Those that have not ended, read at the start. */
export const listLockouts = (file: SqlStore, now: number): Promise<KeptLockout[]> =>
  file.all<KeptLockout>('SELECT name, until FROM lockouts WHERE until > ? ORDER BY until', [now])
