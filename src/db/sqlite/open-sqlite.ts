import { closeSync, openSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { Worker } from 'node:worker_threads'
import { pause } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Synchronous } from './connection.ts'
import type { RowOf, SqliteFile, SqlRow, SqlValue } from './sqlite-file.ts'
import {
  OPENED,
  type PackedError,
  unpackError,
  type WorkerReply,
  type WorkerSettings,
  type WorkerTask,
} from './worker-messages.ts'

/** A thread cannot be started from a TypeScript file on every Node, so the tests use the one that the build made. */
const WORKER = new URL(
  import.meta.url.endsWith('.ts') ? '../../../dist/db/sqlite/worker.js' : './worker.js',
  import.meta.url,
)

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

/** Questions to one thread and its answers. A thread that dies answers everything that is still open with its death. */
interface WorkerChannel {
  /** What the thread said when it had opened its file. */
  readonly opened: Promise<unknown>
  ask(task: WorkerTask): Promise<unknown>
  /** Resolves with why, as soon as the thread can be asked nothing more. */
  readonly died: Promise<Error>
  /** Resolves when the thread has ended, which it does by itself once it has closed its file. */
  end(): Promise<void>
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

export function createWorkerChannel(worker: Worker, path: string): WorkerChannel {
  const waiting = new Map<number, Waiting>()
  let lastId = OPENED
  let death: Error | undefined

  const wait = (id: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      // An answer that somebody waits for keeps the process alive; an idle database does not.
      if (waiting.size === 0) worker.ref()
      waiting.set(id, { resolve, reject })
    })

  const take = (id: number): Waiting | undefined => {
    const found = waiting.get(id)
    if (waiting.delete(id) && waiting.size === 0) worker.unref()
    return found
  }

  let tellDeath: (death: Error) => void
  const died = new Promise<Error>((resolve) => {
    tellDeath = resolve
  })
  const die = (cause: unknown): void => {
    death ??= new Error(`The thread of the database ${path} has ended`, { cause })
    tellDeath(death)
    for (const id of [...waiting.keys()]) take(id)?.reject(death)
  }

  worker.on('message', (reply: WorkerReply) => {
    const asked = take(reply.id)
    if (reply.kind === 'done') asked?.resolve(reply.value)
    else asked?.reject(unpackError(reply.failure, path))
  })
  worker.on('error', die)
  // A reply that cannot be read belongs to nobody: better no thread than one whose answers are lost.
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

  return {
    opened: wait(OPENED),
    died,
    end() {
      worker.ref()
      return ended
    },
    async ask(task) {
      if (death !== undefined) throw death
      const id = ++lastId
      const answer = wait(id)
      try {
        worker.postMessage({ id, task })
      } catch (error) {
        // What cannot be cloned was never sent.
        take(id)?.reject(new TypeError('A parameter cannot be sent to the database', { cause: error }))
      }
      return answer
    },
  }
}

/** Shorter rests are not worth a timer; after a long read nobody waits longer than this. */
const REST_MS = { least: 1, most: 5 }
const REST_SHARE = 0.5

/**
 * The same file for those who can wait: of all that they read, one thing at a time is asked of its thread. So whatever is
 * written waits for one of their questions at most, however many people ask. After it they rest for half as long as it took: what
 * asks a million times, as the proof of the books does, leaves a third of a core to everybody else.
 */
export function oneReadAtATime(file: SqliteFile, { nowMicros }: Pick<Clock, 'nowMicros'>): SqliteFile {
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
    driver: file.driver,
    atomic: (statements) => file.atomic(statements),
    atomicEach: (groups) => file.atomicEach(groups),
    close: () => file.close(),
    all<Row extends RowOf<Row> = SqlRow>(sql: string, parameters: readonly SqlValue[]) {
      const mine = last.then(() => timed(() => file.all<Row>(sql, parameters)))
      last = mine.catch(() => {}).then(rest)
      return mine
    },
  }
}
