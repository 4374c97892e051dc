/**
 * Gathers operations into calls: while one is on its way the next ones join, so that the window grows with the load by
 * itself. One operation that the database refuses to run does not take the others with it: they are sent one by one.
 */
export interface OpBatches<Op, Result> {
  enqueue(op: Op): Promise<Result>
  idle(): Promise<void>
}

export interface OpBatchesDeps<Op, Result> {
  /** Results stand in the order of the operations. */
  send(ops: readonly Op[]): Promise<readonly Result[]>
  isWorthAsking(error: unknown): boolean
}

const OPS_MAX = 64
/** The second call's round trip hides behind the first one's commit. */
const IN_FLIGHT_MAX = 2

interface Waiting<Op, Result> {
  readonly op: Op
  resolve(result: Result): void
  reject(error: unknown): void
}

export function createOpBatches<Op, Result>({ send, isWorthAsking }: OpBatchesDeps<Op, Result>): OpBatches<Op, Result> {
  const gathered: Waiting<Op, Result>[] = []
  const idleWaiters: (() => void)[] = []
  let inFlight = 0
  let armed = false

  const sendAll = async (waiting: readonly Waiting<Op, Result>[]): Promise<void> => {
    try {
      const results = await send(waiting.map(({ op }) => op))
      for (const [index, { resolve }] of waiting.entries()) resolve(results[index] as Result)
    } catch (error) {
      if (waiting.length === 1 || isWorthAsking(error)) for (const { reject } of waiting) reject(error)
      else for (const each of waiting) await sendAll([each])
    }
  }
  const pump = async (): Promise<void> => {
    armed = false
    if (gathered.length === 0 || inFlight >= IN_FLIGHT_MAX) return
    inFlight++
    await sendAll(gathered.splice(0, OPS_MAX))
    inFlight--
    arm()
    if (inFlight === 0 && gathered.length === 0) for (const done of idleWaiters.splice(0)) done()
  }
  const arm = (): void => {
    if (armed || gathered.length === 0 || inFlight >= IN_FLIGHT_MAX) return
    armed = true
    setImmediate(() => void pump().then(arm))
  }

  return {
    enqueue: (op) =>
      new Promise((resolve, reject) => {
        gathered.push({ op, resolve, reject })
        arm()
      }),
    idle: () =>
      inFlight === 0 && gathered.length === 0
        ? Promise.resolve()
        : new Promise((resolve) => void idleWaiters.push(resolve)),
  }
}
