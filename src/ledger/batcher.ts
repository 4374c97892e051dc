import type { PackedMarks } from '../db/record-changes.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Change } from './state/state.ts'

/** `refused`: the file did not take this operation, but others of its batch. `lost`: it did not take the batch. */
export type Durability = 'durable' | 'refused' | 'lost'

/** What was decided in one step on one account. */
export interface Operation {
  readonly account: AccountRow
  readonly changes: readonly Change[]
  durability: Durability
}

interface BatcherDeps {
  /**
   * Makes one batch durable, and returns the error of each operation that failed alone, by its place; none at all when
   * nothing failed. Throws, and has changed nothing, when the batch could not be written.
   */
  record(
    operations: readonly Operation[],
    marks: PackedMarks | undefined,
  ): Promise<readonly (Error | undefined)[] | undefined>
  /** Called once for each account of which an operation failed alone, with all that memory has decided in vain on it. */
  onRefused(account: AccountRow, refused: readonly Operation[], error: Error): void
  /** Called once when a batch could not be recorded: memory is ahead of the database from here on. */
  onFailure(error: unknown): void
  onBatch?(facts: {
    readonly operations: number
    readonly tickMicros: number
    readonly changes: readonly Change[]
  }): void
  nowMicros(): number
}

export interface Batcher {
  /** Joins the batch that is about to be recorded. The promise never rejects. While failed, everything is lost at once. */
  enqueue(account: AccountRow, changes: readonly Change[]): Promise<Durability>
  /** Sent along with the next batch; only the newest is kept. */
  mark(marks: PackedMarks): void
  /** Whether everything enqueued so far is durable; resolves when that is known. */
  recorded(): Promise<Durability>
  /** Accounts on which something was decided that the file does not have yet. */
  pendingAccounts(): Set<AccountRow>
  /** Resolves when everything enqueued so far has been recorded or lost. */
  idle(): Promise<void>
  /** Stops recording as after a failed batch: memory could not be brought back in line with the file. */
  fail(error: unknown): void
  /** Takes up recording again after a failure, once memory has been read back from the database. */
  reopen(): void
}

/**
 * Group commit. While one batch is being written the next one gathers, so the window grows with the load by itself: one
 * request alone waits for one commit, a thousand share a few. An operation that the file refuses fails alone, with all that
 * was decided on its account since. After a failure of the file nothing is gathered: what was decided on books that are not
 * the file's must never reach the file.
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
    const started = deps.nowMicros()
    recording = true
    written = batch
    const outcome = await deps.record(batch.operations, batch.marks).then(failuresOf, failureOf)
    recording = false
    written = undefined
    if (outcome.kind === 'failed') lose(outcome.error, batch)
    else {
      if (outcome.failures) refuse(batch, outcome.failures)
      deps.onBatch?.({ ...recordedOf(batch), tickMicros: deps.nowMicros() - started })
      batch.settle()
    }
    // One that was emptied is recorded too, so that those who wait for it hear that nothing came of it.
    if (gathering.operations.length > 0 || gathering.marks || !gathering.isWhole) arm()
    else for (const done of idleWaiters.splice(0)) done()
  }

  /** What was decided on the account afterwards stood on what the file refused. */
  const refuse = (batch: Batch, failures: readonly (Error | undefined)[]) => {
    const errors = new Map<AccountRow, Error>()
    batch.operations.forEach(({ account }, place) => {
      const error = failures[place]
      if (error && !errors.has(account)) errors.set(account, error)
    })
    for (const [account, error] of errors) {
      const behind = gathering.operations.filter((operation) => operation.account === account)
      gathering.operations = gathering.operations.filter((operation) => operation.account !== account)
      const refused = [
        ...batch.operations.filter((operation, place) => operation.account === account && failures[place]),
        ...behind,
      ]
      for (const operation of refused) operation.durability = 'refused'
      gathering.isWhole &&= behind.length === 0
      deps.onRefused(account, refused, error)
    }
    batch.isWhole &&= errors.size === 0
  }

  const lose = (error: unknown, ...batches: Batch[]) => {
    const before = failed
    failed = true
    for (const lost of [...batches, takeGathered()]) {
      for (const operation of lost.operations) operation.durability = 'lost'
      lost.isWhole = false
      lost.settle()
    }
    if (!before) deps.onFailure(error)
  }

  return {
    enqueue(account, changes) {
      if (failed) return LOST
      const operation: Operation = { account, changes, durability: 'durable' }
      gathering.operations.push(operation)
      arm()
      return gathering.done.then(() => operation.durability)
    },
    mark(marks) {
      if (failed) return
      gathering.marks = marks
      arm()
    },
    recorded() {
      if (failed) return LOST
      const batch = gathering.operations.length > 0 ? gathering : written
      return batch ? batch.done.then(() => (batch.isWhole ? 'durable' : 'lost')) : DURABLE
    },
    pendingAccounts() {
      return new Set([...(written?.operations ?? []), ...gathering.operations].map(({ account }) => account))
    },
    idle() {
      if (!recording && !armed) return Promise.resolve()
      return new Promise((resolve) => idleWaiters.push(resolve))
    },
    fail: (error) => lose(error),
    reopen() {
      failed = false
    },
  }
}

const failuresOf = (failures: readonly (Error | undefined)[] | undefined) => ({ kind: 'recorded' as const, failures })
const failureOf = (error: unknown) => ({ kind: 'failed' as const, error })

const LOST: Promise<Durability> = Promise.resolve('lost')
const DURABLE: Promise<Durability> = Promise.resolve('durable')

interface Batch {
  operations: Operation[]
  marks: PackedMarks | undefined
  /** Whether the file has taken, or may still take, all that was ever put into it. */
  isWhole: boolean
  readonly done: Promise<void>
  readonly settle: () => void
}

function createBatch(): Batch {
  let settle: Batch['settle'] = () => {}
  const done = new Promise<void>((resolve) => {
    settle = resolve
  })
  return { operations: [], marks: undefined, isWhole: true, done, settle }
}

function recordedOf({ operations }: Batch) {
  const recorded = operations.filter(({ durability }) => durability === 'durable')
  return { operations: recorded.length, changes: recorded.flatMap(({ changes }) => changes) }
}
