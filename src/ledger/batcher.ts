import type { PackedMarks } from '../db/record-changes.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Change } from './state/state.ts'

/** `refused`: the file refused this operation, but took others of its batch. `lost`: it did not take the batch. */
export type Durability = 'durable' | 'refused' | 'lost'

/** What was decided in one step on one account. */
export interface Operation {
  readonly account: AccountRow
  readonly changes: readonly Change[]
  durability: Durability
}

interface BatcherOptions {
  /**
   * Makes one batch durable. Returns the error of each operation that failed alone, by its place; undefined when none
   * failed. Throws, and has changed nothing, when the batch could not be written.
   */
  record(
    operations: readonly Operation[],
    marks: PackedMarks | undefined,
  ): Promise<readonly (Error | undefined)[] | undefined>
  /** Called once per account with a refused operation, with everything decided on the account since. */
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
  /** Adds to the next batch. The promise never rejects. After a failure everything is lost at once. */
  enqueue(account: AccountRow, changes: readonly Change[]): Promise<Durability>
  /** Goes along with the next batch; only the newest marks are kept. */
  mark(marks: PackedMarks): void
  /** Resolves with whether everything enqueued so far is durable. */
  recorded(): Promise<Durability>
  /** Accounts with decisions that the file does not have yet. */
  pendingAccounts(): Set<AccountRow>
  /** Resolves when everything enqueued so far has been recorded or lost. */
  idle(): Promise<void>
  /** Stops recording as after a failed batch, when memory cannot be brought back in line with the file. */
  fail(error: unknown): void
  /** Records again, once memory has been read back from the database. */
  reopen(): void
}

/**
 * Group commit. While one batch is written the next one gathers, so the window grows with the load: one request alone waits
 * for one commit, a thousand share a few. An operation that the file refuses fails alone, with everything decided on its
 * account since. After a failure of the file nothing is gathered: decisions on a state that the file does not have must
 * never reach the file.
 */
export function createBatcher(options: BatcherOptions): Batcher {
  let gathering = createBatch()
  let written: Batch | undefined
  let armed = false
  let failed = false
  const idleWaiters: (() => void)[] = []

  const arm = () => {
    if (armed || written) return
    armed = true
    // One turn of the event loop, so that all requests of the same socket read join.
    setImmediate(recordGathered)
  }

  const recordGathered = async () => {
    const batch = gathering
    gathering = createBatch()
    const started = options.nowMicros()
    armed = false
    written = batch
    let failures: readonly (Error | undefined)[] | undefined
    let failure: { readonly error: unknown } | undefined
    try {
      failures = await options.record(batch.operations, batch.marks)
    } catch (error) {
      failure = { error }
    }
    written = undefined
    if (failure) lose(failure.error, batch)
    else {
      if (failures) refuse(batch, failures)
      const durable = batch.operations.filter(({ durability }) => durability === 'durable')
      options.onBatch?.({
        operations: durable.length,
        tickMicros: options.nowMicros() - started,
        changes: durable.flatMap(({ changes }) => changes),
      })
      batch.settle()
    }
    // An emptied batch is recorded too, so that its waiters learn that nothing came of it.
    if (gathering.operations.length > 0 || gathering.marks || !gathering.isWhole) arm()
    else for (const done of idleWaiters.splice(0)) done()
  }

  /** Later decisions on the account depend on what the file refused, so they are refused too. */
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
      options.onRefused(account, refused, error)
    }
    batch.isWhole &&= errors.size === 0
  }

  const lose = (error: unknown, ...batches: Batch[]) => {
    const before = failed
    failed = true
    batches.push(gathering)
    gathering = createBatch()
    for (const lost of batches) {
      for (const operation of lost.operations) operation.durability = 'lost'
      lost.isWhole = false
      lost.settle()
    }
    if (!before) options.onFailure(error)
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
      if (!written && !armed) return Promise.resolve()
      return new Promise((resolve) => idleWaiters.push(resolve))
    },
    fail: (error) => lose(error),
    reopen() {
      failed = false
    },
  }
}

const LOST: Promise<Durability> = Promise.resolve('lost')
const DURABLE: Promise<Durability> = Promise.resolve('durable')

interface Batch {
  operations: Operation[]
  marks: PackedMarks | undefined
  /** Whether the file has taken, or may still take, everything that was ever added. */
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
