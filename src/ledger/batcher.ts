import type { PackedMarks } from '../db/record-changes.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow } from '../model/ids.ts'
import type { Change } from './state/state.ts'

/** `refused`: the file refused this operation, but took others of its batch. `lost`: it did not take the batch. */
export type Durability = 'durable' | 'refused' | 'lost'

/** What was decided in one step on one account. */
export interface Operation {
  readonly account: AccountRow
  readonly changes: readonly Change[]
  durability: Durability
  /** Called once, when the durability is known. */
  readonly resolve: (durability: Durability) => void
}

export interface RecordedBatch {
  /** Turns opened and closed, and transfers. */
  readonly operations: number
  readonly seconds: number
  /** What is durable now. */
  readonly changes: readonly Change[]
}

interface BatcherOptions {
  readonly clock: Pick<Clock, 'nowMicros'>
  readonly observer: { batchRecorded(batch: RecordedBatch): void }
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
  /**
   * Called once when a batch could not be recorded: memory is ahead of the database from here on. `failuresBefore` counts the
   * batches that failed since the last success.
   */
  onFailure(error: unknown, failuresBefore: number): void
}

/** How long an operation may wait for others, so that they share a commit. */
interface Patience {
  readonly patienceMs: number
  /** It waits even where no other operation is expected in time. */
  readonly waitsAlone?: boolean
}

export interface Batcher {
  /** Adds to the next batch. The promise never rejects. After a failure everything is lost at once. */
  enqueue(account: AccountRow, changes: readonly Change[], patience?: Patience): Promise<Durability>
  /** Writes the next batch soon: something waits for it. */
  hurry(): void
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

/** How much the newest interval between two operations weighs in their average. */
const NEWEST_SHARE = 1 / 8
/** A longer interval counts as this one, so that the average adapts soon after a quiet hour. */
const PAUSE_MICROS = 100_000

/** Under load a hurried batch still waits this long, so that other hurried operations join. */
const HURRY_MS = 1

const NOW = Number.NEGATIVE_INFINITY

/**
 * Group commit. While one batch is written the next one gathers, so the window grows with the load: one request alone waits
 * for one commit, a thousand share a few. A patient operation waits for others while they come often enough for one to be
 * expected in time. An operation that the file refuses fails alone, with everything decided on its account since. After a failure
 * of the file nothing is gathered: decisions on a state that the file does not have must never reach the file.
 */
export function createBatcher(options: BatcherOptions): Batcher {
  const { clock, observer } = options
  let gathering = createBatch()
  let written: Batch | undefined
  let armed = false
  let failed = false
  let failuresInARow = 0
  /** When the gathering batch is to be written, and the timer for it. */
  let dueAt = Number.POSITIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  /** Of operations, in microseconds. */
  let averageInterval = PAUSE_MICROS
  let lastEnqueuedAt = Number.NEGATIVE_INFINITY
  const idleWaiters: (() => void)[] = []

  const arm = (now: number) => {
    if (armed || written) return
    clearTimeout(timer)
    if (dueAt > now) {
      timer = setTimeout(arm, Math.ceil((dueAt - now) / 1000), dueAt)
      return
    }
    armed = true
    // One iteration of the event loop, so that all requests of the same socket read join.
    setImmediate(recordGathered)
  }

  const writeBy = (due: number, now: number) => {
    // Nothing has gathered: what was hurried is in the batch that is being written.
    const isEmpty = gathering.operations.length === 0 && gathering.marks === undefined
    if (isEmpty || due > dueAt) return
    dueAt = due
    arm(now)
  }

  const hurry = () => {
    if (averageInterval >= HURRY_MS * 1000) return writeBy(NOW, NOW)
    const now = clock.nowMicros()
    writeBy(now + HURRY_MS * 1000, now)
  }

  const recordGathered = async () => {
    const batch = gathering
    gathering = createBatch()
    const startedMicros = clock.nowMicros()
    armed = false
    dueAt = Number.POSITIVE_INFINITY
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
      failuresInARow = 0
      if (failures) refuse(batch, failures)
      let operations = 0
      const changes: Change[] = []
      for (const operation of batch.operations) {
        operation.resolve(operation.durability)
        if (operation.durability !== 'durable') continue
        operations++
        changes.push(...operation.changes)
      }
      for (const resolve of batch.waiting) resolve(batch.isWhole ? 'durable' : 'lost')
      observer.batchRecorded({ operations, seconds: (clock.nowMicros() - startedMicros) / 1e6, changes })
    }
    // An emptied batch is recorded too, so that its waiters learn that nothing came of it.
    if (gathering.operations.length > 0 || gathering.marks || !gathering.isWhole) arm(clock.nowMicros())
    else {
      dueAt = Number.POSITIVE_INFINITY
      tellIdle()
    }
  }

  const tellIdle = () => {
    for (const done of idleWaiters.splice(0)) done()
  }

  /** Later decisions on the account depend on what the file refused, so they are refused too. */
  const refuse = (batch: Batch, failures: readonly (Error | undefined)[]) => {
    const errors = new Map<AccountRow, Error>()
    batch.operations.forEach(({ account }, place) => {
      const error = failures[place]
      if (error && !errors.has(account)) errors.set(account, error)
    })
    for (const [account, error] of errors) {
      const refused = batch.operations.filter((operation, place) => operation.account === account && failures[place])
      for (const operation of refused) operation.durability = 'refused'
      const behind = gathering.operations.filter((operation) => operation.account === account)
      for (const operation of behind) operation.resolve('refused')
      gathering.operations = gathering.operations.filter((operation) => operation.account !== account)
      gathering.isWhole &&= behind.length === 0
      // Nothing is left that would wait, but its waiters are to learn of it.
      if (!gathering.isWhole && gathering.operations.length === 0) dueAt = NOW
      options.onRefused(account, [...refused, ...behind], error)
    }
    batch.isWhole &&= errors.size === 0
  }

  const lose = (error: unknown, ...batches: Batch[]) => {
    const before = failed
    failed = true
    batches.push(gathering)
    gathering = createBatch()
    clearTimeout(timer)
    dueAt = Number.POSITIVE_INFINITY
    for (const lost of batches) {
      for (const operation of lost.operations) operation.resolve('lost')
      for (const resolve of lost.waiting) resolve('lost')
    }
    if (!before) options.onFailure(error, failuresInARow++)
    // No batch will be written whose end would tell them.
    if (!armed && !written) tellIdle()
  }

  return {
    enqueue(account, changes, { patienceMs, waitsAlone = false } = IMPATIENT) {
      if (failed) return LOST
      return new Promise((resolve) => {
        gathering.operations.push({ account, changes, durability: 'durable', resolve })
        const now = clock.nowMicros()
        averageInterval += (Math.min(now - lastEnqueuedAt, PAUSE_MICROS) - averageInterval) * NEWEST_SHARE
        lastEnqueuedAt = now
        const patience = patienceMs * 1000
        writeBy(waitsAlone || averageInterval < patience ? now + patience : NOW, now)
      })
    },
    hurry,
    mark(marks) {
      if (failed) return
      gathering.marks = marks
      hurry()
    },
    recorded() {
      if (failed) return LOST
      const batch = gathering.operations.length > 0 ? gathering : written
      if (batch === gathering) writeBy(NOW, NOW)
      return batch ? new Promise((resolve) => batch.waiting.push(resolve)) : DURABLE
    },
    pendingAccounts() {
      return new Set([...(written?.operations ?? []), ...gathering.operations].map(({ account }) => account))
    },
    idle() {
      writeBy(NOW, NOW)
      if (!written && !armed) return Promise.resolve()
      return new Promise((resolve) => idleWaiters.push(resolve))
    },
    fail: (error) => lose(error),
    reopen() {
      failed = false
    },
  }
}

const IMPATIENT: Patience = { patienceMs: 0 }
const LOST: Promise<Durability> = Promise.resolve('lost')
const DURABLE: Promise<Durability> = Promise.resolve('durable')

interface Batch {
  operations: Operation[]
  marks: PackedMarks | undefined
  /** Whether the file has taken, or may still take, everything that was ever added. */
  isWhole: boolean
  /** Callers of `recorded`. */
  readonly waiting: ((durability: Durability) => void)[]
}

const createBatch = (): Batch => ({ operations: [], marks: undefined, isWhole: true, waiting: [] })
