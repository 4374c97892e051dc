import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { oneReadAtATime } from './open-sqlite.ts'
import type { SqliteFile } from './sqlite-file.ts'

/** Says what it was asked, and answers when it is told to. */
function slowFile() {
  const asked: string[] = []
  const answers: { give(): void; fail(): void }[] = []
  const file: SqliteFile = {
    driver: 'slow',
    all: <Row>(sql: string) =>
      new Promise<Row[]>((resolve, reject) => {
        asked.push(sql)
        answers.push({ give: () => resolve([{ sql } as Row]), fail: () => reject(new Error('no such table')) })
      }),
    atomic: async (statements) => statements.map(({ sql }) => asked.push(sql)),
    atomicEach: async () => [],
    close: async () => {},
  }
  return { file, asked, answers }
}

/** Until everything has happened that waits for nobody. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

it('asks one thing after the other, in the order in which they came, and lets what is written pass', async () => {
  const { file, asked, answers } = slowFile()
  const patient = oneReadAtATime(file, { nowMicros: () => 0 })
  const reads = ['first', 'second', 'third'].map((sql) => patient.all(sql, []))
  await settled()
  expect(asked).toEqual(['first'])
  await patient.atomic([{ sql: 'a charge', rows: [[]] }])
  expect(asked).toEqual(['first', 'a charge'])
  answers[0]!.give()
  expect(await reads[0]).toEqual([{ sql: 'first' }])
  await settled()
  expect(asked).toEqual(['first', 'a charge', 'second'])
  answers[1]!.fail()
  await expect(reads[1]).rejects.toThrow('no such table')
  await settled()
  answers[2]!.give()
  expect(await reads[2], 'one that fails keeps nobody from asking').toEqual([{ sql: 'third' }])
})

describe('after a read', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
  afterEach(() => void vi.useRealTimers())

  /** Two questions, of which the first takes so long: how long until the second is asked, in whole milliseconds. */
  async function restAfter(ms: number): Promise<number> {
    const { file, asked, answers } = slowFile()
    const clock = { at: 0, nowMicros: () => clock.at }
    const patient = oneReadAtATime(file, clock)
    void patient.all('first', [])
    await settled()
    clock.at += ms * 1000
    void patient.all('second', [])
    answers[0]!.give()
    await settled()
    let rested = 0
    for (; asked.length < 2; rested++) await vi.advanceTimersByTimeAsync(1)
    return rested
  }

  it.each([
    ['nobody rests for less than a timer is worth', 1.9, 0],
    ['they rest for half as long as it took', 6, 3],
    ['and never for long', 400, 5],
  ])('%s', async (_, ms, rest) => {
    expect(await restAfter(ms)).toBe(rest)
  })
})
