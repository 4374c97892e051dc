import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { SqlFailure, type SqlStore } from '../sql-store.ts'
import { connect, immutableUri } from './connection.ts'
import { AUTOCHECKPOINT_PAGES } from './worker-messages.ts'

/** The tests use the built one in dist/. */
const CHECKER = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/db/sqlite/check-file.js' : './check-file.js',
    import.meta.url,
  ),
)

export type IntegrityReport =
  | { readonly kind: 'checked'; readonly findings: readonly string[] }
  /** Too much was written meanwhile, so the check was aborted without a result. */
  | { readonly kind: 'given-up' }

/** Changes stay in the log while the file is checked, up to this size. */
const LOG_BYTES_MAX = 256 * 1024 * 1024
const LOG_LOOK_MS = 500
const ATTEMPTS_MAX = 3

/**
 * Checks the whole structure of an open database: pages, free list, every index against its table, the types and texts of
 * all cells. The worker goes on: its writes stay in the write-ahead log while another process reads the file, which
 * therefore does not change. The worker is blocked only by two checkpoints.
 */
export async function checkIntegrity(file: SqlStore, path: string): Promise<IntegrityReport> {
  await file.all('PRAGMA wal_autocheckpoint = 0', [])
  try {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await file.all('PRAGMA wal_checkpoint(TRUNCATE)', [])
      const before = versionOf(path)
      const report = await runChecker(path)
      // A checkpoint came in between: the read was half of one moment, half of another.
      if (versionOf(path) === before) return report
    }
    return { kind: 'given-up' }
  } finally {
    await file.all(`PRAGMA wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`, []).catch(() => {})
  }
}

function versionOf(path: string): string {
  const { size, mtimeNs } = statSync(path, { bigint: true })
  return `${size} ${mtimeNs}`
}

/** Checks a file that does not change meanwhile, in a process of its own. */
export function runChecker(path: string, ...options: 'quick'[]): Promise<IntegrityReport> {
  const child = spawn(process.execPath, [CHECKER, path, ...options], { stdio: ['ignore', 'pipe', 'ignore'], env: {} })
  let output = ''
  let isGivenUp = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  if (child.pid !== undefined) beNice(child.pid)
  const looking = setInterval(() => {
    if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) < LOG_BYTES_MAX) return
    isGivenUp = true
    child.kill('SIGKILL')
  }, LOG_LOOK_MS)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => {
      if (isGivenUp) resolve({ kind: 'given-up' })
      else if (code === 0) resolve({ kind: 'checked', findings: JSON.parse(output) })
      else
        resolve({
          kind: 'checked',
          findings: [`reading the file ended the process that checked it (${signal ?? code})`],
        })
    })
  }).finally(() => clearInterval(looking)) as Promise<IntegrityReport>
}

/** Other work goes first. */
export function beNice(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW)
  } catch {
    // It has ended already, or the system does not allow it.
  }
}

/** What a ledger says about itself. */
export interface LedgerPeek {
  readonly migrations: readonly string[]
  /** Entries of `meta` by their name. */
  readonly meta: ReadonlyMap<string, string>
}

/**
 * Reads a file that no process has open, without a lock and without changing it. Damage may end the process that reads it, so
 * another process checks it first.
 */
export async function peekClosedLedger(
  path: string,
): Promise<{ readonly kind: 'damaged'; readonly finding: string } | ({ readonly kind: 'read' } & LedgerPeek)> {
  const report = await runChecker(path, 'quick')
  const finding = report.kind === 'checked' ? report.findings[0] : undefined
  if (finding !== undefined) return { kind: 'damaged', finding }
  const connection = connect(immutableUri(path))
  try {
    const rows = (sql: string) => connection.prepare(sql).all([])
    const migrations = rows('SELECT name FROM migrations ORDER BY position').map(({ name }) => String(name))
    const meta = rows('SELECT name, value FROM meta').map(({ name, value }) => [String(name), String(value)] as const)
    return { kind: 'read', migrations, meta: new Map(meta) }
  } catch (error) {
    return { kind: 'damaged', finding: (error as Error).message }
  } finally {
    connection.close()
  }
}

/** Whether the last process did not close the database: closing removes the log. Called before the file is opened. */
export const wasLeftOpen = (path: string): boolean =>
  ['-wal', '-journal'].some((log) => (statSync(`${path}${log}`, { throwIfNoEntry: false })?.size ?? 0) > 0)

/** Reads every page once and throws if the structure is damaged. Indexes are not compared with their tables. */
export async function quickCheck(file: SqlStore): Promise<void> {
  const [row] = await file.all<{ quick_check: string }>('PRAGMA quick_check(1)', [])
  if (row?.quick_check === 'ok') return
  throw new SqlFailure(`quick_check: ${row?.quick_check ?? 'no answer'}`, 'SQLITE_CORRUPT')
}
