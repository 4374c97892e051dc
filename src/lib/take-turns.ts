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
