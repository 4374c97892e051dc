import type { AtomicStatement, SqliteFile } from '../sqlite/sqlite-file.ts'

/**
 * Tries that are used up: whose, and until when all of them are back, in wall milliseconds. Under a name that begins with
 * `known:` the opposite: who has signed in from where, and until when that is remembered.
 */
export interface KeptLockout {
  readonly name: string
  readonly until: number
}

/** Remembers lockouts over the end of the process. Nobody waits for it. */
export interface LockoutKeeper {
  keep(lockout: KeptLockout): void
  drop(name: string): void
  /** Resolves when all that was said so far is in the file. */
  close(): Promise<void>
}

interface LockoutDeps {
  readonly file: SqliteFile
  readonly now: () => number
  readonly onFailure: (error: unknown) => void
}

/**
 * The most that the file has of either kind. Whoever has networks enough to lock out more than these in a quarter of an
 * hour brings the soonest to end out of it, which a restart would then forgive.
 */
const LOCKOUTS_MAX = 10_000

const EXPIRE = 'DELETE FROM lockouts WHERE until <= ?'
const KEEP = `INSERT INTO lockouts (name, until) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET until = excluded.until`
const DROP = 'DELETE FROM lockouts WHERE name = ?'
const IS_KNOWN = `name >= 'known:' AND name < 'known;'`
/** Each kind for itself: lockouts come and go, and must not push out what is remembered for months, nor the reverse. */
const BOUNDS = [IS_KNOWN, `NOT (${IS_KNOWN})`].map(
  (kind) => `DELETE FROM lockouts WHERE name IN (SELECT name FROM lockouts WHERE ${kind}
    ORDER BY until LIMIT max(0, (SELECT count(*) FROM lockouts WHERE ${kind}) - ${LOCKOUTS_MAX}))`,
)

/**
 * One write at a time, with all that has come meanwhile: however many passwords are tried, they cost this file one commit
 * after the other, and the ledger, which has a thread of its own, nothing.
 */
export function createLockoutKeeper({ file, now, onFailure }: LockoutDeps): LockoutKeeper {
  let waiting = new Map<string, number | undefined>()
  let writing: Promise<void> | undefined

  const writeAll = async () => {
    while (waiting.size > 0) {
      const taken = waiting
      waiting = new Map()
      await file.atomic(statementsFor(taken, now())).catch(onFailure)
    }
    writing = undefined
  }
  const note = (name: string, until: number | undefined) => {
    // More than the file has room for need not wait for it either.
    if (waiting.size < LOCKOUTS_MAX || waiting.has(name)) waiting.set(name, until)
    writing ??= writeAll()
  }
  return {
    keep: ({ name, until }) => note(name, until),
    drop: (name) => note(name, undefined),
    close: async () => writing,
  }
}

function statementsFor(lockouts: ReadonlyMap<string, number | undefined>, now: number): AtomicStatement[] {
  const entries = [...lockouts]
  return [
    { sql: DROP, rows: entries.filter(([, until]) => until === undefined).map(([name]) => [name]) },
    { sql: KEEP, rows: entries.flatMap(([name, until]) => (until === undefined ? [] : [[name, until]])) },
    { sql: EXPIRE, rows: [[now]] },
    ...BOUNDS.map((sql) => ({ sql, rows: [[]] })),
  ]
}

/** Those that are not over, at the start. */
export const listLockouts = (file: SqliteFile, now: number): Promise<KeptLockout[]> =>
  file.all<KeptLockout>('SELECT name, until FROM lockouts WHERE until > ? ORDER BY until', [now])
