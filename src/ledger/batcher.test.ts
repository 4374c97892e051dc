import { describe, expect, it } from 'vitest'
import type { AccountRow, BucketRow } from '../model/ids.ts'
import { createBatcher, type Operation } from './batcher.ts'

const [ONE, OTHER] = [1 as AccountRow, 2 as AccountRow]
const change = { kind: 'bucket-moved', bucket: 3 as BucketRow, posted: 1n, held: 0n } as const

/** A slow file, which is full until the test makes room. */
function createScene() {
  let full = true
  const recorded: number[] = []
  const failures: unknown[] = []
  const refused: unknown[] = []
  let refuses = (_: readonly Operation[]): (Error | undefined)[] | undefined => undefined
  let write = () => {}
  const batcher = createBatcher({
    clock: { nowMicros: () => 0 },
    observer: { batchRecorded() {} },
    onFailure: (error) => void failures.push(error),
    onRefused: (account, operations, error) => void refused.push([account, operations.length, error.message]),
    async record(operations) {
      await new Promise<void>((resolve) => {
        write = resolve
      })
      if (full) throw new Error('full')
      recorded.push(operations.length)
      return refuses(operations)
    },
  })
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    batcher,
    recorded,
    failures,
    refused,
    refuse(accounts: readonly AccountRow[]) {
      refuses = (operations) =>
        operations.map(({ account }) => (accounts.includes(account) ? new Error('no such row') : undefined))
    },
    async write() {
      await nextTurn()
      write()
    },
    makeRoom() {
      full = false
    },
  }
}

it('tells when all that came so far is durable, without a batch of its own', async () => {
  const { batcher, recorded, write, makeRoom } = createScene()
  makeRoom()
  expect(await batcher.recorded()).toBe('durable')
  void batcher.enqueue(ONE, [change])
  const known: string[] = []
  void batcher.recorded().then((durability) => known.push(`gathering ${durability}`))
  await new Promise((resolve) => setImmediate(resolve))
  void batcher.recorded().then((durability) => known.push(`written ${durability}`))
  await new Promise((resolve) => setImmediate(resolve))
  expect(known).toEqual([])
  await write()
  await batcher.idle()
  await new Promise((resolve) => setImmediate(resolve))
  expect(known).toEqual(['gathering durable', 'written durable'])
  expect(recorded).toEqual([1])
})

describe('a batcher whose batch failed', () => {
  it('loses that batch, what had gathered after it, and at once everything that comes while it is failed', async () => {
    const { batcher, failures, recorded, write, makeRoom } = createScene()
    const first = batcher.enqueue(ONE, [change])
    await new Promise((resolve) => setImmediate(resolve))
    const behind = batcher.enqueue(ONE, [change])
    await write()
    expect(await Promise.all([first, behind])).toEqual(['lost', 'lost'])
    expect(failures).toHaveLength(1)

    makeRoom()
    expect(await batcher.enqueue(ONE, [change])).toBe('lost')
    expect(await batcher.recorded()).toBe('lost')
    await batcher.idle()
    expect(recorded).toEqual([])

    batcher.reopen()
    const after = batcher.enqueue(ONE, [change])
    await write()
    expect(await after).toBe('durable')
    expect(recorded, 'nothing from before is recorded with it').toEqual([1])
  })
})

describe('a batcher that is made to fail', () => {
  it('loses what had gathered, keeps what is being written, and tells of it once', async () => {
    const { batcher, failures, recorded, write, makeRoom } = createScene()
    makeRoom()
    const written = batcher.enqueue(ONE, [change])
    await new Promise((resolve) => setImmediate(resolve))
    const gathered = batcher.enqueue(OTHER, [change])
    const cause = new Error('cannot be read')
    batcher.fail(cause)
    expect([await gathered, await batcher.enqueue(OTHER, [change])]).toEqual(['lost', 'lost'])
    batcher.fail(new Error('once more'))
    await write()
    expect(await written).toBe('durable')
    await batcher.idle()
    expect([recorded, failures]).toEqual([[1], [cause]])
  })
})

describe('an operation that the file refuses', () => {
  it('fails alone, with what was decided on its account since, and the others of its batch are durable', async () => {
    const { batcher, failures, refused, refuse, recorded, write, makeRoom } = createScene()
    makeRoom()
    refuse([ONE])
    const first = [batcher.enqueue(ONE, [change]), batcher.enqueue(OTHER, [change])]
    await new Promise((resolve) => setImmediate(resolve))
    const behind = [batcher.enqueue(ONE, [change]), batcher.enqueue(OTHER, [change])]
    await write()
    expect(await Promise.all(first)).toEqual(['refused', 'durable'])
    expect(refused).toEqual([[ONE, 2, 'no such row']])
    refuse([])
    await write()
    expect(await Promise.all(behind)).toEqual(['refused', 'durable'])
    expect([recorded, failures], 'the gate stays open').toEqual([[2, 1], []])

    const again = batcher.enqueue(ONE, [change])
    await write()
    expect(await again, 'the account goes on').toBe('durable')
  })

  it('resolves every waiter of a batch that was emptied', async () => {
    const { batcher, refuse, write, makeRoom } = createScene()
    makeRoom()
    refuse([ONE])
    const first = batcher.enqueue(ONE, [change])
    await new Promise((resolve) => setImmediate(resolve))
    const [behind, whole] = [batcher.enqueue(ONE, [change]), batcher.recorded()]
    await write()
    expect(await first).toBe('refused')
    await write()
    expect(await Promise.all([behind, whole])).toEqual(['refused', 'lost'])
    await batcher.idle()
  })

  it('names the accounts that the file does not have yet', async () => {
    const { batcher, write, makeRoom } = createScene()
    makeRoom()
    void batcher.enqueue(ONE, [change])
    await new Promise((resolve) => setImmediate(resolve))
    void batcher.enqueue(OTHER, [change])
    expect([...batcher.pendingAccounts()]).toEqual([ONE, OTHER])
    for (let batch = 0; batch < 3; batch++) await write()
    await batcher.idle()
    expect([...batcher.pendingAccounts()]).toEqual([])
  })
})
