import { describe, expect, it, vi } from 'vitest'
import { fractionsFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { pause } from '../lib/async.ts'
import type { AccountRow, BucketRow } from '../model/ids.ts'
import { type Batcher, createBatcher, type Operation } from './batcher.ts'

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
  let nowMicros = 0
  const batcher = createBatcher({
    clock: { nowMicros: () => nowMicros },
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
    pass(micros: number) {
      nowMicros += micros
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

describe('a patient operation', () => {
  /** Single operations that come so often, each written before the next. */
  async function atInterval(micros: number) {
    const scene = createScene()
    scene.makeRoom()
    for (let count = 0; count < 40; count++) {
      scene.pass(micros)
      void scene.batcher.enqueue(ONE, [change])
      await scene.write()
      await scene.batcher.idle()
    }
    scene.recorded.length = 0
    scene.pass(micros)
    return scene
  }

  it('waits for others that come often, and is written with the first impatient one', async () => {
    const { batcher, recorded, write } = await atInterval(1000)
    const hold = batcher.enqueue(ONE, [change], { patienceMs: 60_000 })
    await write()
    expect(recorded).toEqual([])
    void batcher.enqueue(OTHER, [change])
    await write()
    expect(await hold).toBe('durable')
    expect(recorded).toEqual([2])
  })

  it.each([
    ['something waits for it', (batcher: Batcher) => batcher.hurry()],
    ['marks are to be written', (batcher: Batcher) => batcher.mark({ node: 1, at: 1, packed: new Uint8Array() })],
    ['everything so far has to be written', (batcher: Batcher) => void batcher.recorded()],
    ['the ledger closes', (batcher: Batcher) => void batcher.idle()],
  ])('is written at once when %s', async (_when, hurry) => {
    const { batcher, recorded, write } = await atInterval(1000)
    const hold = batcher.enqueue(ONE, [change], { patienceMs: 60_000 })
    hurry(batcher)
    await write()
    expect(await hold).toBe('durable')
    expect(recorded).toEqual([1])
  })

  it('is not forgotten when another one was hurried that was being written', async () => {
    const { batcher, recorded, write } = await atInterval(1000)
    const first = batcher.enqueue(ONE, [change])
    await new Promise((resolve) => setImmediate(resolve))
    batcher.hurry()
    await write()
    await first
    const next = batcher.enqueue(ONE, [change])
    await write()
    expect(await next).toBe('durable')
    expect(recorded).toEqual([1, 1])
  })

  it('is written when its time is over', async () => {
    const { batcher, recorded, write } = await atInterval(1000)
    const hold = batcher.enqueue(ONE, [change], { patienceMs: 5 })
    await vi.waitFor(async () => {
      await write()
      expect(recorded).toEqual([1])
    })
    expect(await hold).toBe('durable')
  })

  it('does not wait where others come rarely', async () => {
    const { batcher, recorded, write } = await atInterval(50_000)
    void batcher.enqueue(ONE, [change], { patienceMs: 5 })
    await write()
    expect(recorded).toEqual([1])
  })

  it('waits where others come rarely, if the next one is its own end', async () => {
    const { batcher, recorded, write } = await atInterval(50_000)
    const hold = batcher.enqueue(ONE, [change], { patienceMs: 60_000, waitsAlone: true })
    await write()
    expect(recorded).toEqual([])
    const end = batcher.enqueue(ONE, [change])
    await write()
    expect(await Promise.all([hold, end])).toEqual(['durable', 'durable'])
    expect(recorded).toEqual([2])
  })

  it('waits for others a moment longer when something waits for it while they come every moment', async () => {
    const { batcher, recorded, write } = await atInterval(100)
    const hold = batcher.enqueue(ONE, [change], { patienceMs: 60_000 })
    batcher.hurry()
    await write()
    expect(recorded).toEqual([])
    await vi.waitFor(async () => {
      await write()
      expect(recorded).toEqual([1])
    })
    expect(await hold).toBe('durable')
  })

  it('is lost with the batch that failed before it', async () => {
    const { batcher } = await atInterval(1000)
    const hold = batcher.enqueue(ONE, [change], { patienceMs: 60_000 })
    batcher.fail(new Error('memory is wrong'))
    expect(await hold).toBe('lost')
    await batcher.idle()
  })

  it('leaves idle waiting for nothing when it is lost before its time is over', async () => {
    const { batcher, write } = await atInterval(1000)
    const first = batcher.enqueue(ONE, [change])
    await new Promise((resolve) => setImmediate(resolve))
    const idle = batcher.idle()
    const patient = batcher.enqueue(ONE, [change], { patienceMs: 60_000 })
    await write()
    await first
    batcher.fail(new Error('memory is wrong'))
    expect(await patient).toBe('lost')
    await idle
  })

  it('leaves nothing to be written after idle when it was refused with another one', async () => {
    const { batcher, recorded, refuse, write } = await atInterval(1000)
    refuse([ONE])
    const first = batcher.enqueue(ONE, [change])
    await new Promise((resolve) => setImmediate(resolve))
    const patient = batcher.enqueue(ONE, [change], { patienceMs: 50 })
    await write()
    expect(await Promise.all([first, patient])).toEqual(['refused', 'refused'])
    const idle = batcher.idle()
    await write()
    await idle
    expect(recorded).toEqual([1, 0])
  })
})

it('resolves every promise under random operations, and writes one batch at a time', async () => {
  const seed = Number(process.env.BATCHER_SEED ?? Date.now() % 1_000_000)
  console.log(`seed ${seed}`)
  const random = fractionsFrom(seed)
  let next: 'written' | 'failed' | 'refused' = 'written'
  let writing = 0
  let mostAtOnce = 0
  const counts = { written: 0, failed: 0, refused: 0 }
  const batcher = createBatcher({
    clock: { nowMicros: () => Math.floor(performance.now() * 1000) },
    observer: { batchRecorded() {} },
    onRefused() {},
    onFailure: () => void setTimeout(() => batcher.idle().then(() => batcher.reopen()), 1),
    async record(operations) {
      mostAtOnce = Math.max(mostAtOnce, ++writing)
      await (random() < 0.5 ? new Promise((resolve) => setImmediate(resolve)) : pause(random() * 3))
      writing -= 1
      const how = next
      next = 'written'
      counts[how] += 1
      if (how === 'failed') throw new Error('full')
      return how === 'refused' ? operations.map(() => (random() < 0.3 ? new Error('no') : undefined)) : undefined
    },
  })
  const promises: Promise<unknown>[] = []
  for (let step = 0; step < 2000; step++) {
    // With nothing more to come, what came before is written too.
    if (step % 10 === 0) await Promise.all(promises.splice(0))
    const what = random()
    if (what < 0.6)
      promises.push(
        batcher.enqueue(random() < 0.5 ? ONE : OTHER, [change], {
          patienceMs: random() < 0.5 ? 5 : 0,
          waitsAlone: random() < 0.3,
        }),
      )
    else if (what < 0.7) batcher.hurry()
    else if (what < 0.75) batcher.mark({ node: 1, at: 1, packed: new Uint8Array() })
    else if (what < 0.82) promises.push(batcher.recorded())
    else if (what < 0.87) promises.push(batcher.idle())
    else if (what < 0.91) next = 'failed'
    else if (what < 0.96) next = 'refused'
    else if (what < 0.98) batcher.fail(new Error('memory is wrong'))
    if (random() < 0.4) await (random() < 0.8 ? new Promise((resolve) => setImmediate(resolve)) : pause(random() * 4))
  }
  await Promise.all(promises)
  console.log(`batches ${JSON.stringify(counts)}`)
  expect(mostAtOnce, `seed ${seed}`).toBe(1)
  expect(Math.min(...Object.values(counts)), `seed ${seed}`).toBeGreaterThan(5)
})
