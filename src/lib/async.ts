export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** A process that has nothing else to do ends meanwhile. */
export const pauseIdly = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms).unref())

/**
 * Calls back when the event loop has looked at its sockets once. After the process was stopped for a while, timers fire before
 * anything is read: what has arrived meanwhile is read by then.
 */
export function afterLoopTurn(then: () => void): () => void {
  // The first setImmediate may run before the loop looks at its sockets, the second runs after it.
  let immediate = setImmediate(() => {
    immediate = setImmediate(then)
  })
  return () => clearImmediate(immediate)
}

/** Lets one waiter pass in each turn of the event loop: however many there are, others are not held up by more than one. */
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

/** Runs so many at once, and the others after them in the order in which they came. */
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

/**
 * What opens registers here how it closes, on the next line; everything is closed in reverse order, once, and one
 * failure does not keep the rest open.
 */
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
      if (failures.length > 0) throw new AggregateError(failures, 'closing did not go through')
    },
  }
}
