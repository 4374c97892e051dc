import { closeSync, openSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { pause } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RowOf, SqlRow, SqlStore, SqlValue } from '../sql-store.ts'
import { type PackedError, unpackError } from './failure.ts'
import type { SqliteFile } from './worker-messages.ts'
import { OPENED, type Synchronous, type WorkerReply, type WorkerSettings, type WorkerTask } from './worker-messages.ts'

/** Not every Node starts a worker from a TypeScript file, so the tests use the one in dist/. */
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/db/sqlite/worker.js' : './worker.js',
  import.meta.url,
)

/** Opened only if it is new: closing a descriptor of an existing file would drop the lock that this process holds. */
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
  /** Called when the worker ends by itself: this process can no longer read or write the file. */
  readonly onDeath?: ((death: Error) => void) | undefined
}

/** Starts the worker that owns the file. Rejects with DatabaseLocked when another process has it. */
export async function openSqlite({ path, synchronous = 'full', onDeath }: SqliteOptions): Promise<SqliteFile> {
  const settings: WorkerSettings = { path, synchronous }
  createPrivately(path)
  // Read when a thread starts, and takes precedence over its resource limits. The process has a large young generation for
  // what requests hold on to; the objects of this thread die at once, and would only fill that much memory again per file.
  setFlagsFromString('--max-semi-space-size=16')
  // Without the flags of the process: `--eval` would make the worker fail.
  const worker = new Worker(WORKER, { workerData: settings, name: 'sqlite', execArgv: [] })
  const channel = createWorkerChannel(worker, path)
  const driver = (await channel.opened) as string
  let isClosing = false
  void channel.died.then((death) => {
    if (!isClosing) onDeath?.(death)
  })
  return {
    driver,
    all: <Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]) =>
      channel.ask({ kind: 'all', sql, parameters }) as Promise<Row[]>,
    atomic: (statements) => channel.ask({ kind: 'atomic', statements }) as Promise<number[]>,
    async atomicEach(groups) {
      const failures = (await channel.ask({ kind: 'each', groups })) as (PackedError | undefined)[]
      return failures.map((failure) => failure && unpackError(failure, path))
    },
    archiveLog: (step) => channel.ask({ kind: 'archive', step }) as Promise<number>,
    close() {
      isClosing = true
      return channel.close()
    },
  }
}

/** Requests to one worker and its replies. When the worker dies, every open request fails. */
interface WorkerChannel {
  /** The worker's first reply, once it has opened its file. */
  readonly opened: Promise<unknown>
  ask(task: WorkerTask): Promise<unknown>
  /** Resolves with the reason, as soon as the worker takes no more requests. */
  readonly died: Promise<Error>
  /** Lets the worker close its file, and resolves when its thread has ended. Later requests fail. */
  close(): Promise<void>
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

export function createWorkerChannel(worker: Worker, path: string): WorkerChannel {
  const waiting = new Map<number, Waiting>()
  let lastId = OPENED
  let death: Error | undefined
  let closing: Promise<void> | undefined

  const take = (id: number): Waiting | undefined => {
    const found = waiting.get(id)
    if (waiting.delete(id) && waiting.size === 0) worker.unref()
    return found
  }
  const ask = (task: WorkerTask): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (closing !== undefined) throw new Error(`The database ${path} is closed`)
      if (death !== undefined) throw death
      const id = ++lastId
      // An open request keeps the process alive; an idle database does not.
      if (waiting.size === 0) worker.ref()
      waiting.set(id, { resolve, reject })
      try {
        worker.postMessage({ id, task })
      } catch (error) {
        // A task that cannot be cloned was never sent.
        take(id)?.reject(new TypeError('A parameter cannot be sent to the database', { cause: error }))
      }
    })

  let reportDeath: (death: Error) => void
  const died = new Promise<Error>((resolve) => {
    reportDeath = resolve
  })
  const die = (cause: unknown): void => {
    death ??= new Error(`The thread of the database ${path} has ended`, { cause })
    reportDeath(death)
    for (const id of [...waiting.keys()]) take(id)?.reject(death)
  }

  worker.on('message', (reply: WorkerReply) => {
    const request = take(reply.id)
    if (reply.kind === 'done') request?.resolve(reply.value)
    else request?.reject(unpackError(reply.failure, path))
  })
  worker.on('error', die)
  // A reply that cannot be read would leave its request open for ever, so the worker is ended.
  worker.on('messageerror', (error) => {
    die(error)
    void worker.terminate()
  })
  const ended = new Promise<void>((resolve) => {
    worker.on('exit', (code) => {
      die(new Error(`exit code ${code}`))
      resolve()
    })
  })
  const close = async (): Promise<void> => {
    if (death === undefined) await ask({ kind: 'close' })
    worker.ref()
    await ended
  }

  return {
    opened: new Promise((resolve, reject) => void waiting.set(OPENED, { resolve, reject })),
    died,
    ask,
    close() {
      // Undefined until its own request has been sent.
      closing ??= close()
      return closing
    },
  }
}

/** Shorter pauses are not worth a timer, and after a long read no caller waits longer. */
const REST_MS = { least: 1, most: 5 }
const REST_SHARE = 0.5

/**
 * The same file for callers that can wait: of all their reads one at a time is sent to the worker, so that a write waits for
 * one of them at most. After each read they pause for half as long as it took: an audit with a million queries leaves a
 * third of a core to other work.
 */
export function oneReadAtATime(file: SqlStore, { nowMicros }: Pick<Clock, 'nowMicros'>): SqlStore {
  let last: Promise<unknown> = Promise.resolve()
  let restMs = 0
  const timed = async <Result>(read: () => Promise<Result>): Promise<Result> => {
    const began = nowMicros()
    try {
      return await read()
    } finally {
      restMs += (REST_SHARE * (nowMicros() - began)) / 1000
    }
  }
  const rest = async () => {
    if (restMs < REST_MS.least) return
    const ms = Math.min(restMs, REST_MS.most)
    restMs = 0
    await pause(ms)
  }
  return {
    ...file,
    all<Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]) {
      const mine = last.then(() => timed(() => file.all<Row>(sql, parameters)))
      last = mine.catch(() => {}).then(rest)
      return mine
    },
  }
}
