export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Does not keep the process alive. */
export const pauseIdly = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())

/**
 * Calls back when the event loop has read its sockets once. After the process was suspended, timers fire before anything that
 * arrived meanwhile is read.
 */
export function afterSocketsRead(then: () => void): () => void {
  // The first setImmediate may run before the loop reads its sockets, the second runs after it.
  let immediate = setImmediate(() => {
    immediate = setImmediate(then)
  })
  return () => clearImmediate(immediate)
}

/** Lets one waiter pass in each iteration of the event loop, so that many waiters delay other work by one at a time. */
export function createTurnstile(): () => Promise<void> {
  const waiting: (() => void)[] = []
  const letOnePass = () => {
    waiting.shift()?.()
    if (waiting.length > 0) setImmediate(letOnePass)
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (waiting.length === 1) setImmediate(letOnePass)
    })
}

/** Runs this many at once, and the others in their order. */
export function createQueue(atOnceMax: number): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const waiting: (() => void)[] = []
  let running = 0
  return async (work) => {
    if (running >= atOnceMax) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running -= 1
    }
  }
}

/** Runs the works of one user one after the other, in their order, beside those of others. */
export function createTurns<User>(): <Result>(user: User, work: () => Promise<Result>) => Promise<Result> {
  const last = new Map<User, Promise<unknown>>()
  return async (user, work) => {
    const before = last.get(user)
    const mine = before === undefined ? work() : before.then(work, work)
    last.set(user, mine)
    try {
      return await mine
    } finally {
      if (last.get(user) === mine) last.delete(user)
    }
  }
}

/** Closes in reverse order what was opened, once. A failure does not keep the rest open. */
export interface Closing {
  add(close: () => void | Promise<void>): void
  close(): Promise<void>
}

export function createClosing(): Closing {
  const steps: (() => void | Promise<void>)[] = []
  return {
    add: (step) => {
      steps.push(step)
    },
    async close() {
      const failures: unknown[] = []
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        try {
          await step()
        } catch (error) {
          failures.push(error)
        }
      }
      if (failures.length > 0) throw new AggregateError(failures, 'closing failed')
    },
  }
}

/**
 * A cancellation signal inside the process: AbortSignal without the cost of an EventTarget for each turn. One listens at a time: a
 * call of a provider, or a wait between two.
 */
export interface StopSignal {
  readonly stopped: boolean
  /** Called once when it is stopped. */
  onStop: (() => void) | undefined
}

export class Stopper implements StopSignal {
  stopped = false
  onStop: (() => void) | undefined

  stop(): void {
    if (this.stopped) return
    this.stopped = true
    this.onStop?.()
  }
}
