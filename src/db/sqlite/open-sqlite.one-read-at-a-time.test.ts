import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { oneReadAtATime } from './open-sqlite.ts'
import type { SqliteFile } from './worker-messages.ts'

/** Records queries, and answers them when the test says so. */
function slowFile() {
  const sent: string[] = []
  const answers: { give(): void; fail(): void }[] = []
  const file: SqliteFile = {
    driver: 'slow',
    all: <Row>(sql: string) =>
      new Promise<Row[]>((resolve, reject) => {
        sent.push(sql)
        answers.push({ give: () => resolve([{ sql } as Row]), fail: () => reject(new Error('no such table')) })
      }),
    atomic: async (statements) => statements.map(({ sql }) => sent.push(sql)),
    atomicEach: async () => [],
    close: async () => {},
  }
  return { file, sent, answers }
}

/** Until all pending microtasks have run. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

it('sends one read after the other, in their order, and lets writes pass', async () => {
  const { file, sent, answers } = slowFile()
  const patient = oneReadAtATime(file, { nowMicros: () => 0 })
  const reads = ['first', 'second', 'third'].map((sql) => patient.all(sql, []))
  await settled()
  expect(sent).toEqual(['first'])
  await patient.atomic([{ sql: 'a charge', rows: [[]] }])
  expect(sent).toEqual(['first', 'a charge'])
  answers[0]!.give()
  expect(await reads[0]).toEqual([{ sql: 'first' }])
  await settled()
  expect(sent).toEqual(['first', 'a charge', 'second'])
  answers[1]!.fail()
  await expect(reads[1]).rejects.toThrow('no such table')
  await settled()
  answers[2]!.give()
  expect(await reads[2], 'a failed read does not block the next one').toEqual([{ sql: 'third' }])
})

describe('after a read', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  /** Whole milliseconds from the end of a read of this length until the next one is sent. */
  async function restAfter(ms: number): Promise<number> {
    const { file, sent, answers } = slowFile()
    const clock = { at: 0, nowMicros: () => clock.at }
    const patient = oneReadAtATime(file, clock)
    void patient.all('first', [])
    await settled()
    clock.at += ms * 1000
    void patient.all('second', [])
    answers[0]!.give()
    await settled()
    let rested = 0
    for (; sent.length < 2; rested++) await vi.advanceTimersByTimeAsync(1)
    return rested
  }

  it.each([
    ['there is no pause shorter than a timer is worth', 1.9, 0],
    ['they rest for half as long as it took', 6, 3],
    ['and never for long', 400, 5],
  ])('%s', async (_, ms, rest) => {
    expect(await restAfter(ms)).toBe(rest)
  })
})
