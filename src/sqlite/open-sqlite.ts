import { closeSync, openSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import type { Synchronous } from './driver.ts'
import type { RowOf, SqliteFile, SqlRow, SqlValue } from './sqlite-file.ts'
import { createWorkerChannel } from './worker-channel.ts'
import { type PackedError, unpackError, type WorkerSettings } from './worker-messages.ts'

/** A thread cannot be started from a TypeScript file on every Node, so the tests use the one that the build made. */
const WORKER = new URL(import.meta.url.endsWith('.ts') ? '../../dist/sqlite/worker.js' : './worker.js', import.meta.url)

/** The ledger is nobody else's to read. Opened only if it is new: closing a descriptor would drop a lock that we hold. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

export interface SqliteOptions {
  readonly path: string
  readonly synchronous?: Synchronous
  /** The thread has ended by itself: nothing of this file can be read or written any more, by this process. */
  readonly onDeath?: ((death: Error) => void) | undefined
}

/** Starts the thread that owns the file. Rejects with DatabaseLocked when another process has it. */
export async function openSqlite(options: SqliteOptions): Promise<SqliteFile> {
  const settings: WorkerSettings = { path: options.path, synchronous: options.synchronous ?? 'full' }
  createPrivately(options.path)
  // Read when a thread begins, and above its resource limits. The room that the process is given for its young is for what requests
  // hold on to; what this thread makes dies at once, and would only fill that room once more, with every file.
  setFlagsFromString('--max-semi-space-size=16')
  // Flags of the process may not apply to a file: `node --eval` would make the thread fail.
  const worker = new Worker(WORKER, { workerData: settings, name: 'sqlite', execArgv: [] })
  const channel = createWorkerChannel(worker, options.path)
  const driver = (await channel.opened) as string

  let closing: Promise<void> | undefined
  let isDead = false
  void channel.died.then((death) => {
    isDead = true
    if (closing === undefined) options.onDeath?.(death)
  })
  const close = async () => {
    if (!isDead) await channel.ask({ kind: 'close' })
    await channel.end()
  }
  const open = async <Result>(work: () => Promise<unknown>): Promise<Result> => {
    if (closing !== undefined) throw new Error(`The database ${options.path} is closed`)
    return (await work()) as Result
  }
  return {
    driver,
    all: <Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]) =>
      open<Row[]>(() => channel.ask({ kind: 'all', sql, parameters })),
    atomic: (statements) => open<number[]>(() => channel.ask({ kind: 'atomic', statements })),
    async atomicEach(groups) {
      const failures = await open<(PackedError | undefined)[]>(() => channel.ask({ kind: 'each', groups }))
      return failures.map((failure) => failure && unpackError(failure, options.path))
    },
    close() {
      closing ??= close()
      return closing
    },
  }
}
