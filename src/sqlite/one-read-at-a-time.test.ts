import { expect, it } from 'vitest'
import { oneReadAtATime } from './one-read-at-a-time.ts'
import type { SqliteFile, SqlRow } from './sqlite-file.ts'

/** Says what it was asked, and answers when it is told to. */
function slowFile() {
  const asked: string[] = []
  const answers: { give(): void; fail(): void }[] = []
  const file: SqliteFile = {
    driver: 'slow',
    all: (sql) =>
      new Promise<SqlRow[]>((resolve, reject) => {
        asked.push(sql)
        answers.push({ give: () => resolve([{ sql }]), fail: () => reject(new Error('no such table')) })
      }),
    atomic: async (statements) => statements.map(({ sql }) => asked.push(sql)),
    close: async () => {},
  }
  return { file, asked, answers }
}

/** Until everything has happened that waits for nobody. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

it('asks one thing after the other, in the order in which they came, and lets what is written pass', async () => {
  const { file, asked, answers } = slowFile()
  const patient = oneReadAtATime(file)
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
