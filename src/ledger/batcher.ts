import type { Change } from '../books/changes.ts'
import type { PackedMarks } from '../store/record-changes.ts'

export type Durability = 'durable' | 'lost'

export interface BatcherDeps {
  /** Makes one batch durable, or throws and has changed nothing. */
  record(changes: readonly Change[], marks: PackedMarks | undefined): Promise<void>
  /** Called once when a batch could not be recorded: memory is ahead of the database from here on. */
  onFailure(error: unknown): void
  onBatch?(facts: {
    readonly operations: number
    readonly tickMicros: number
    readonly changes: readonly Change[]
  }): void
  ticks(): number
}

export interface Batcher {
  /** Joins the batch that is about to be recorded. The promise never rejects. While failed, everything is lost at once. */
  enqueue(changes: readonly Change[]): Promise<Durability>
  /** Sent along with the next batch; only the newest is kept. */
  mark(marks: PackedMarks): void
  /** Whether everything enqueued so far is durable; resolves when that is known. */
  recorded(): Promise<Durability>
  /** Resolves when everything enqueued so far has been recorded or lost. */
  idle(): Promise<void>
  /** Takes up recording again after a failure, once memory has been read back from the database. */
  reopen(): void
}

/**
 * Group commit. While one batch is being written the next one gathers, so the window grows with the load by itself: one
 * request alone waits for one commit, a thousand share a few. After a failure nothing is gathered: what was decided on
 * books that are not the file's must never reach the file.
 */
export function createBatcher(deps: BatcherDeps): Batcher {
  let gathering = createBatch()
  let written: Batch | undefined
  let recording = false
  let armed = false
  let failed = false
  const idleWaiters: (() => void)[] = []

  const arm = () => {
    if (armed || recording) return
    armed = true
    // One turn of the event loop: all requests that arrived in the same read of sockets join.
    setImmediate(() => {
      armed = false
      void recordGathered()
    })
  }

  const takeGathered = (): Batch => {
    const batch = gathering
    gathering = createBatch()
    return batch
  }

  const recordGathered = async () => {
    const batch = takeGathered()
    const started = deps.ticks()
    recording = true
    written = batch
    const failure = await deps.record(batch.changes, batch.marks).then(() => undefined, failureOf)
    recording = false
    written = undefined
    if (failure) fail(batch, failure.error)
    else {
      const { operations, changes } = batch
      deps.onBatch?.({ operations, tickMicros: deps.ticks() - started, changes })
      batch.resolve('durable')
    }
    if (gathering.changes.length > 0 || gathering.marks) arm()
    else for (const done of idleWaiters.splice(0)) done()
  }

  const fail = (batch: Batch, error: unknown) => {
    failed = true
    batch.resolve('lost')
    takeGathered().resolve('lost')
    deps.onFailure(error)
  }

  return {
    enqueue(changes) {
      if (failed) return LOST
      for (const change of changes) gathering.changes.push(change)
      gathering.operations++
      arm()
      return gathering.done
    },
    mark(marks) {
      if (failed) return
      gathering.marks = marks
      arm()
    },
    recorded() {
      if (failed) return LOST
      return gathering.changes.length > 0 ? gathering.done : (written?.done ?? DURABLE)
    },
    idle() {
      if (!recording && !armed) return Promise.resolve()
      return new Promise((resolve) => idleWaiters.push(resolve))
    },
    reopen() {
      failed = false
    },
  }
}

const LOST: Promise<Durability> = Promise.resolve('lost')
const DURABLE: Promise<Durability> = Promise.resolve('durable')

const failureOf = (error: unknown) => ({ error })

interface Batch {
  readonly changes: Change[]
  operations: number
  marks: PackedMarks | undefined
  readonly done: Promise<Durability>
  readonly resolve: (durability: Durability) => void
}

function createBatch(): Batch {
  let resolve: Batch['resolve'] = () => {}
  const done = new Promise<Durability>((settle) => {
    resolve = settle
  })
  return { changes: [], operations: 0, marks: undefined, done, resolve }
}
