import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AccountId, RequestId } from '../../model/ids.ts'
import { SqlFailure, type SqlStore } from '../sql-store.ts'
import { createKeptAnswers, type KeptAnswersOptions } from './kept-answers.ts'
import { openContent } from './open-content.ts'

const clock = { now: () => time, nowMicros: () => 0 }
const KEY = { id: 'k1', secret: Buffer.alloc(32, 1) }
const OTHER_KEY = { id: 'k2', secret: Buffer.alloc(32, 2) }
const ACCOUNT = 'acct_seven' as AccountId

let time: number
let folder: string
let file: SqlStore
let failures: unknown[]

beforeEach(async () => {
  time = 1000
  failures = []
  folder = mkdtempSync(join(tmpdir(), 'millrace-content-'))
  file = await openContent({ path: join(folder, 'content.db'), clock })
})

afterEach(async () => {
  await file.close()
  rmSync(folder, { recursive: true })
})

const open = (over: Partial<KeptAnswersOptions> = {}) =>
  createKeptAnswers({
    ...{ file, keys: [KEY], now: clock.now, bytesMax: 1_000_000 },
    onFailure: (error) => failures.push(error),
    ...over,
  })

const named = (name: string | number) => `req_${name}` as RequestId

const answer = (name: string | number, body: Buffer = Buffer.from('{"said":"hello"}'), expiresAt = 2000) => ({
  ...{ requestId: named(name), account: ACCOUNT, status: 200, contentType: 'application/json' },
  ...{ body, facts: `facts of ${name}`, expiresAt },
})

/** Bytes that no compression makes smaller. */
function noise(size: number): Buffer {
  const bytes = Buffer.alloc(size)
  let state = 1
  for (let at = 0; at < size; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    bytes[at] = state >>> 24
  }
  return bytes
}

const readOf = async (answers: Awaited<ReturnType<typeof open>>, name: string | number) =>
  (await answers.find(named(name), ACCOUNT))?.read()

describe('an answer that is kept', () => {
  it.each([
    ['of a few bytes', Buffer.from('{}')],
    ['of none', Buffer.alloc(0)],
    ['that repeats itself', Buffer.from('data: {"delta":"word"}\n\n'.repeat(50_000))],
    ['that does not', noise(100_000)],
  ])('%s comes back byte for byte', async (_which, body) => {
    const answers = await open({ bytesMax: 10_000_000 })
    expect(await answers.keep(answer('a', body))).toBe(true)
    const found = await answers.find(named('a'), ACCOUNT)
    expect(found).toMatchObject({ status: 200, contentType: 'application/json', rawBytes: body.length })
    expect((await found?.read())?.equals(body)).toBe(true)
    expect(failures).toEqual([])
  })

  it('is kept once while its database comes back, whether or not it was written before', async () => {
    const failing = ['before', 'after']
    const answers = await open({
      file: {
        ...file,
        async atomic(statements) {
          const when = failing.pop()
          const changed = when === 'before' ? [] : await file.atomic(statements)
          if (when !== undefined) throw new SqlFailure('the database system is shutting down', '57P03')
          return changed
        },
      },
    })
    expect(await answers.keep(answer('a'))).toBe(true)
    expect(failing).toEqual([])
    expect(await file.all('SELECT request_id FROM answers', [])).toEqual([{ request_id: named('a') }])
    expect((await readOf(answers, 'a'))?.toString()).toBe('{"said":"hello"}')
    expect(failures).toEqual([])
  })

  it('is compressed where that pays', async () => {
    const answers = await open()
    await answers.keep(answer('a', Buffer.alloc(500_000, 'word ')))
    await answers.keep(answer('b', noise(5000)))
    const rows = await file.all('SELECT encoding, bytes FROM answers ORDER BY request_id', [])
    expect(rows.map(({ encoding }) => encoding)).toEqual(['deflate', 'identity'])
    expect(rows[0]?.bytes).toBeLessThan(10_000)
  })

  it('belongs to its request and its account', async () => {
    const answers = await open()
    await answers.keep(answer('a'))
    expect(await readOf(answers, 'b')).toBe(undefined)
    expect(await answers.find(named('a'), 'acct_eight' as AccountId)).toBe(undefined)
  })

  it('cannot be read on the disk, nor with another key, nor under another name, nor damaged', async () => {
    const answers = await open()
    await answers.keep(answer('a', Buffer.from(`{"said":"${'canary '.repeat(200)}"}`)))
    await answers.keep(answer('b', Buffer.from('canary')))
    for (const name of readdirSync(folder)) expect(readFileSync(join(folder, name)).includes('canary')).toBe(false)
    expect(await readOf(await open({ keys: [{ ...OTHER_KEY, id: 'k1' }] }), 'a')).toBe(undefined)
    expect(await (await open({ keys: [OTHER_KEY] })).find(named('a'), ACCOUNT)).toBe(undefined)
    expect((await readOf(await open({ keys: [OTHER_KEY, KEY] }), 'b'))?.toString()).toBe('canary')
    const [row] = await file.all("SELECT sealed FROM answers WHERE request_id = 'req_b'", [])
    const damaged = Buffer.from(row?.sealed as Uint8Array)
    damaged[20]! ^= 1
    await file.atomic([
      { sql: "UPDATE answers SET request_id = 'req_c' WHERE request_id = 'req_a'", rows: [[]] },
      { sql: "UPDATE answers SET sealed = ? WHERE request_id = 'req_b'", rows: [[damaged]] },
    ])
    expect(await readOf(answers, 'c')).toBe(undefined)
    expect(await readOf(answers, 'b')).toBe(undefined)
  })

  it('leaves its facts to recovery, of those that are asked for', async () => {
    const answers = await open()
    await answers.keep(answer('a'))
    await answers.keep(answer('b'))
    expect(await answers.factsOf([named('b'), named('c')])).toEqual(new Map([['req_b', 'facts of b']]))
    await answers.forget(named('b'))
    expect(await answers.factsOf([named('a'), named('b')])).toEqual(new Map([['req_a', 'facts of a']]))
  })
})

describe('the room for answers', () => {
  const there = async () =>
    (await file.all('SELECT request_id FROM answers ORDER BY request_id', [])).map(({ request_id }) => request_id)

  it('is made by those that expire first, also after a restart', async () => {
    let answers = await open({ bytesMax: 5000 })
    await answers.keep(answer(1, noise(1500), 3000))
    await answers.keep(answer(2, noise(1500), 2000))
    await answers.keep(answer(3, noise(1500), 4000))
    answers = await open({ bytesMax: 5000 })
    expect(await answers.keep(answer(4, noise(1500), 5000))).toBe(true)
    expect(await there()).toEqual(['req_1', 'req_3', 'req_4'])
    expect(await answers.keep(answer(5, noise(4000), 5000))).toBe(true)
    expect(await there()).toEqual(['req_5'])
  })

  it('is never exceeded, by however many at once', async () => {
    const answers = await open({ bytesMax: 10_000 })
    const kept = await Promise.all(Array.from({ length: 40 }, (_, at) => answers.keep(answer(at, noise(900), at))))
    expect(kept.every(Boolean)).toBe(true)
    const [row] = await file.all('SELECT SUM(bytes) AS bytes, COUNT(*) AS count FROM answers', [])
    expect(row?.bytes).toBeLessThanOrEqual(10_000)
    expect(row?.count).toBe(10)
  })

  it('is not given to one that is larger than all of it, and none at all keeps nothing', async () => {
    const answers = await open({ bytesMax: 1000 })
    await answers.keep(answer(1))
    expect(await answers.keep(answer(2, noise(1000)))).toBe(false)
    expect(await (await open({ bytesMax: 0 })).keep(answer(3))).toBe(false)
    expect(await there()).toEqual(['req_1'])
  })

  it('is given back by what has expired', async () => {
    const answers = await open()
    for (let at = 0; at < 120; at++) await answers.keep(answer(at, Buffer.from('{}'), at < 110 ? 1500 : 2500))
    time = 1499
    expect(await answers.sweep()).toBe(0)
    time = 1500
    expect(await answers.sweep()).toBe(110)
    expect(await there()).toHaveLength(10)
  })
})

it('a file that cannot be written is reported, and does not block the answer', async () => {
  const answers = await open()
  await file.close()
  expect(await answers.keep(answer(1))).toBe(false)
  expect(failures).toHaveLength(1)
  await expect(answers.find(named(1), ACCOUNT)).rejects.toThrow(/closed/)
})

it('a file that cannot be read is told of, and recovery goes on as if nothing had been kept', async () => {
  const answers = await open()
  await answers.keep(answer('a'))
  await file.close()
  expect(await answers.factsOf([named('a'), named('b')])).toEqual(new Map())
  expect(failures).toHaveLength(2)
})
