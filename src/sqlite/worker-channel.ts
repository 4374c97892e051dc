import type { Worker } from 'node:worker_threads'
import { OPENED, unpackError, type WorkerReply, type WorkerTask } from './worker-messages.ts'

/** Questions to one thread and its answers. A thread that dies answers everything that is still open with its death. */
export interface WorkerChannel {
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
