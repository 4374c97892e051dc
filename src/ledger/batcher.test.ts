import { describe, expect, it } from 'vitest'
import type { BucketRow } from '../model/ids.ts'
import { createBatcher } from './batcher.ts'

const change = { kind: 'bucket-moved', bucket: 3 as BucketRow, posted: 1n, held: 0n } as const

/** A file that is slow, and full until it is told otherwise. */
function createScene() {
  let full = true
  const recorded: number[] = []
  const failures: unknown[] = []
  let write = () => {}
  const batcher = createBatcher({
    ticks: () => 0,
    onFailure: (error) => void failures.push(error),
    async record(changes) {
      await new Promise<void>((resolve) => {
        write = resolve
      })
      if (full) throw new Error('full')
      recorded.push(changes.length)
    },
  })
  const nextTurn = () => new Promise((resolve) => setImmediate(resolve))
  return {
    batcher,
    recorded,
    failures,
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
  void batcher.enqueue([change])
  const known: string[] = []
  void batcher.recorded().then((durability) => known.push(`gathering ${durability}`))
  await new Promise((resolve) => setImmediate(resolve))
  void batcher.recorded().then((durability) => known.push(`written ${durability}`))
  await new Promise((resolve) => setImmediate(resolve))
  expect(known).toEqual([])
  await write()
  await batcher.idle()
  expect(known).toEqual(['gathering durable', 'written durable'])
  expect(recorded).toEqual([1])
})

describe('a batcher whose batch failed', () => {
  it('loses that batch, what had gathered behind it, and at once whatever comes while it is failed', async () => {
    const { batcher, failures, recorded, write, makeRoom } = createScene()
    const first = batcher.enqueue([change])
    await new Promise((resolve) => setImmediate(resolve))
    const behind = batcher.enqueue([change])
    await write()
    expect(await Promise.all([first, behind])).toEqual(['lost', 'lost'])
    expect(failures).toHaveLength(1)

    makeRoom()
    expect(await batcher.enqueue([change])).toBe('lost')
    expect(await batcher.recorded()).toBe('lost')
    await batcher.idle()
    expect(recorded).toEqual([])

    batcher.reopen()
    const after = batcher.enqueue([change])
    await write()
    expect(await after).toBe('durable')
    expect(recorded, 'nothing from before is recorded with it').toEqual([1])
  })
})
