import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ACCOUNT,
  answered,
  EVER,
  ended,
  json,
  OTHER_RING_KEY,
  openStoreBench,
  RING_KEY,
  STRANGER,
  type StoreBench,
  started,
  textsOf,
  userMessage,
} from '../../../test/fixtures/db/content/stored-responses.ts'
import { randomFrom } from '../../../test/fixtures/lib/seeded-random.ts'
import type { AccountId, RequestId } from '../../model/ids.ts'
import { SqlFailure } from '../sql-store.ts'
import { createStoredResponses } from './stored-responses.ts'

const MiB = 1024 * 1024

let bench: StoreBench

beforeEach(async () => {
  bench = await openStoreBench()
})
afterEach(async () => {
  await bench.close()
})

const keep = async (...[name, over]: Parameters<typeof ended>) => {
  expect(await bench.responses.finish(ended(name, over)), name).toBe(true)
}
const context = (name: string, account = ACCOUNT) => bench.responses.context({ account }, `resp_${name}`, 32 * MiB)
const found = async (name: string): Promise<string[]> => {
  const answer = await context(name)
  if (answer.kind !== 'found') throw new Error(`${name}: ${answer.kind}`)
  return textsOf(answer.items)
}
const itemsOf = async (ids: readonly string[], account = ACCOUNT) => {
  const answer = await bench.responses.items({ account }, ids, 32 * MiB)
  return answer.kind === 'found' ? [...answer.items.keys()] : answer.kind
}

describe('a stored response', () => {
  it('is found with its output in it, and is the context of the next one', async () => {
    await keep('a')
    const response = await bench.responses.find({ account: ACCOUNT }, 'resp_a')
    expect(response?.status).toBe('completed')
    expect(JSON.parse(String(response?.body))).toEqual({
      ...{ id: 'resp_a', object: 'response', status: 'completed', model: 'm' },
      output: [JSON.parse(String(answered('msg_a', 'answer a')))],
    })
    expect(await found('a')).toEqual(textsOf([userMessage('question a'), answered('msg_a', 'answer a')]))
    expect(bench.failures).toEqual([])
  })

  it('waits for the other large ones of its account if it is large, so that they do not hold up others', async () => {
    let turn = 0
    let isOver = false
    const count = () => {
      turn += 1
      if (!isOver) setImmediate(count)
    }
    count()
    const endOf = async (name: string, items: number) => {
      const input = Array.from({ length: items }, (_, at) => userMessage(`${name} ${at}`))
      expect(await bench.responses.finish(ended(name, { input })), name).toBe(true)
      return turn
    }
    const namesOf = (size: string) => Array.from({ length: 8 }, (_, at) => `${size}_${at}`)
    const large = await Promise.all(namesOf('large').map((name) => endOf(name, 300)))
    const small = await Promise.all(namesOf('small').map((name) => endOf(name, 3)))
    isOver = true
    expect(large).toEqual([...new Set(large)])
    // These share a commit.
    expect(new Set(small).size).toBeLessThan(8)
  })

  it('is read only when its bytes were taken, and a large one while no other large one of its account is', async () => {
    const id = 'resp_a'
    const text = 'x'.repeat(2 * MiB)
    await keep('a', { output: [answered('msg_a', text)] })
    let reading = 0
    let most = 0
    const look = async (isTaken: boolean) => {
      const taken: number[] = []
      const take = (bytes: number) => {
        taken.push(bytes)
        reading += 1
        most = Math.max(most, reading)
        return isTaken
      }
      const answer = await bench.responses.findWithin({ scope: { account: ACCOUNT }, id, take })
      reading -= 1
      return { taken: taken.length === 1 && taken[0]! > 2 * MiB, answer }
    }
    expect(await look(false)).toEqual({ taken: true, answer: 'no-memory' })
    for (const { taken, answer } of await Promise.all([look(true), look(true), look(true)])) {
      expect(taken).toBe(true)
      expect(answer).toMatchObject({ status: 'completed' })
    }
    expect(most).toBe(1)
  })

  it('is a running one until it has ended, and its beginning is not lost to it', async () => {
    expect(await bench.responses.begin(started('a'))).toBe(true)
    expect((await bench.responses.find({ account: ACCOUNT }, 'resp_a'))?.status).toBe('in_progress')
    expect(await context('a')).toEqual({ kind: 'not-finished', status: 'in_progress' })
    await keep('a', { status: 'incomplete' })
    expect((await bench.responses.find({ account: ACCOUNT }, 'resp_a'))?.status).toBe('incomplete')
    expect(await found('a')).toHaveLength(2)
    expect(await bench.count('responses')).toBe(1)
  })

  it('ends once: later ends change nothing', async () => {
    await bench.responses.begin(started('a'))
    await bench.responses.end('resp_a', ACCOUNT, 'cancelled', json({ status: 'cancelled', output: [] }))
    expect(await bench.responses.finish(ended('a'))).toBe(false)
    expect((await bench.responses.find({ account: ACCOUNT }, 'resp_a'))?.status).toBe('cancelled')
    expect(await context('a')).toEqual({ kind: 'not-finished', status: 'cancelled' })
    expect(await bench.count('items')).toBe(0)
    await bench.responses.end('resp_never', ACCOUNT, 'failed', json({ status: 'failed' }))
    expect(await bench.count('responses')).toBe(1)
    expect(bench.failures).toEqual([])
  })

  it('has its output item by item by their ids, and what was only sent has no id to be asked by', async () => {
    const sent = json({ id: 'msg_own', type: 'message', role: 'user', content: 'x' })
    await keep('a', { input: [sent], output: [answered('msg_1', 'x'), answered('msg_2', 'y'), json(['no item'])] })
    expect(await itemsOf(['msg_2', 'msg_own', 'msg_1', 'msg_1', 'msg_none', ''])).toEqual(['msg_1', 'msg_2'])
    expect(await bench.responses.items({ account: ACCOUNT }, ['msg_1', 'msg_2'], 100)).toEqual({ kind: 'too-large' })
  })

  it('that a client has sent back before it was stored can be asked for all the same', async () => {
    await keep('b', { input: [answered('msg_a', 'answer a')] })
    expect(await itemsOf(['msg_a'])).toEqual([])
    await keep('a')
    expect(await itemsOf(['msg_a'])).toEqual(['msg_a'])
  })

  it('belongs to its account', async () => {
    await keep('a')
    await keep('theirs', { account: STRANGER })
    expect(await bench.responses.find({ account: STRANGER }, 'resp_a')).toBe(undefined)
    expect(await context('a', STRANGER)).toEqual({ kind: 'not-found' })
    expect(await itemsOf(['msg_a'], STRANGER)).toEqual([])
    expect(await bench.responses.events({ account: STRANGER }, 'resp_a', 0)).toEqual({ kind: 'not-found' })
    expect(await bench.responses.remove({ account: STRANGER }, 'resp_a')).toBe(false)
    expect(await bench.responses.finish(ended('b', { account: STRANGER, parent: 'resp_a' }))).toBe(false)
    expect(await context('a', 'acct_nine' as AccountId)).toEqual({ kind: 'not-found' })
    expect(await found('a')).toHaveLength(2)
  })

  it('leaves its facts to recovery once it has ended', async () => {
    await bench.responses.begin(started('a'))
    await keep('b')
    const asked = ['req_a', 'req_b', 'req_c'] as RequestId[]
    expect(await bench.responses.factsOf(asked)).toEqual(new Map([['req_b', { facts: 'facts of b', isAsSent: false }]]))
  })

  it('that was forgotten is hidden, deleted and not charged; one that was deleted is charged', async () => {
    await keep('a')
    await keep('b')
    await bench.responses.begin(started('c'))
    for (const name of ['a', 'c', 'none']) await bench.responses.forget(`resp_${name}`, ACCOUNT)
    await bench.responses.remove({ account: ACCOUNT }, 'resp_b')
    const asked = ['req_a', 'req_b'] as RequestId[]
    expect(await bench.responses.factsOf(asked)).toEqual(new Map([['req_b', { facts: 'facts of b', isAsSent: false }]]))
    expect(await bench.responses.find({ account: ACCOUNT }, 'resp_c')).toBe(undefined)
    expect(await bench.responses.finish(ended('c'))).toBe(false)
    expect(await bench.responses.sweep()).toBe(3)
    expect(bench.failures).toEqual([])
  })

  it('is of any size, and comes back byte for byte', async () => {
    const random = randomFrom(1)
    const items = Array.from({ length: 60 }, (_, at) =>
      userMessage(String.fromCharCode(65 + at).repeat(random(40_000))),
    )
    const large = json({ type: 'message', content: 'word '.repeat(400_000) })
    await keep('a', { input: [...items, large], output: [] })
    expect((await found('a')).join() === textsOf([...items, large]).join()).toBe(true)
    expect(await bench.responses.context({ account: ACCOUNT }, 'resp_a', MiB)).toEqual({ kind: 'too-large' })
    expect(await bench.responses.finish(ended('many', { input: Array(5001).fill(userMessage('x')) }))).toBe(false)
  })
})

describe('an item', () => {
  it('is stored once, however many responses refer to it', async () => {
    const shared = [userMessage('the long beginning of all'), userMessage('and more')]
    for (let at = 0; at < 50; at++) await keep(`a${at}`, { input: [...shared, userMessage(`own ${at}`)], output: [] })
    expect(await bench.count('items')).toBe(52)
    expect(await bench.count('response_items')).toBe(150)
    expect((await found('a49')).slice(0, 2)).toEqual(textsOf(shared))
  })

  it('is stored once, however many refer to it at the same moment', async () => {
    const input = [userMessage('shared'), userMessage('shared'), userMessage('more')]
    const all = Array.from({ length: 40 }, (_, at) => bench.responses.finish(ended(`a${at}`, { input })))
    expect((await Promise.all(all)).every(Boolean)).toBe(true)
    expect(await bench.count('items')).toBe(42)
    expect(await found('a7')).toEqual(textsOf([...input, answered('msg_a7', 'answer a7')]))
  })

  it('is another one for another account', async () => {
    await keep('a', { input: [userMessage('x')], output: [] })
    await keep('b', { input: [userMessage('x')], output: [], account: STRANGER })
    expect(await bench.count('items')).toBe(2)
    const rows = await bench.file.all('SELECT DISTINCT digest FROM items', [])
    expect(rows).toHaveLength(2)
  })

  it('lives as long as a response refers to it', async () => {
    await keep('short', { input: [userMessage('shared')], output: [], expiresAt: 2000 })
    await keep('long', { input: [userMessage('shared')], output: [], expiresAt: 3000 })
    bench.time = 2500
    expect(await bench.responses.sweep()).toBe(1)
    expect(await found('long')).toEqual(textsOf([userMessage('shared')]))
    bench.time = 3500
    expect(await bench.responses.sweep()).toBe(1)
    for (const table of ['responses', 'items', 'response_items', 'response_objects', 'account_keys']) {
      expect(await bench.count(table), table).toBe(0)
    }
    expect(await bench.sizeOfState()).toBe(0)
  })
})

describe('a chain', () => {
  const grow = async (length: number, expiresAt = (_at: number) => EVER) => {
    for (let at = 0; at < length; at++) {
      await keep(`c${at}`, { parent: at === 0 ? undefined : `resp_c${at - 1}`, expiresAt: expiresAt(at) })
    }
  }

  it('of 200 turns is their items in order, from every turn on', async () => {
    await grow(200)
    const all = Array.from({ length: 200 }, (_, at) =>
      textsOf([userMessage(`question c${at}`), answered(`msg_c${at}`, `answer c${at}`)]),
    )
    for (const last of [0, 1, 57, 199]) expect(await found(`c${last}`)).toEqual(all.slice(0, last + 1).flat())
  })

  it('goes on when its beginning has expired or was deleted, which cannot be asked for any more', async () => {
    await grow(4, (at) => (at === 0 ? 2000 : EVER))
    expect(await bench.responses.remove({ account: ACCOUNT }, 'resp_c2')).toBe(true)
    expect(await bench.responses.remove({ account: ACCOUNT }, 'resp_c2')).toBe(false)
    bench.time = 2500
    expect(await bench.responses.sweep()).toBe(0)
    for (const name of ['c0', 'c2']) {
      expect(await bench.responses.find({ account: ACCOUNT }, `resp_${name}`)).toBe(undefined)
      expect(await context(name)).toEqual({ kind: 'not-found' })
      expect(await itemsOf([`msg_${name}`])).toEqual([])
    }
    expect(await found('c3')).toHaveLength(8)
    expect(await itemsOf(['msg_c1', 'msg_c3'])).toEqual(['msg_c1', 'msg_c3'])
  })

  it('ends whole when its last living response does', async () => {
    await grow(300, (at) => 2000 + at)
    await keep('beside', { parent: 'resp_c150', expiresAt: 9000 })
    bench.time = 5000
    expect(await bench.responses.sweep()).toBe(149)
    expect(await found('beside')).toHaveLength(304)
    expect(await bench.responses.remove({ account: ACCOUNT }, 'resp_beside')).toBe(true)
    expect(await bench.responses.sweep()).toBe(152)
    expect(await bench.count('items')).toBe(0)
  })

  it('is not built on what has gone: that would be a conversation without its beginning', async () => {
    await keep('a')
    await bench.responses.begin(started('pinned', { parent: 'resp_a' }))
    await bench.responses.remove({ account: ACCOUNT }, 'resp_a')
    await bench.responses.sweep()
    await keep('pinned', { parent: 'resp_a' })
    expect(await found('pinned')).toHaveLength(4)
    await bench.responses.forget('resp_pinned', ACCOUNT)
    await bench.responses.sweep()
    expect(await bench.responses.finish(ended('late', { parent: 'resp_a' }))).toBe(false)
    expect(await bench.responses.begin(started('late', { parent: 'resp_a' }))).toBe(false)
    expect(await bench.count('responses')).toBe(0)
    expect(bench.failures).toEqual([])
  })
})

describe('what cannot be read', () => {
  it('because it is damaged is told as such, or not there', async () => {
    await keep('a', { input: [userMessage('shared')] })
    await keep('b', { input: [userMessage('shared')] })
    await bench.file.atomic([
      { sql: 'UPDATE items SET sealed = zeroblob(60) WHERE id IS NOT NULL AND item = 2', rows: [[]] },
    ])
    expect(await context('a')).toEqual({ kind: 'damaged' })
    expect(await bench.responses.find({ account: ACCOUNT }, 'resp_a')).toBe(undefined)
    expect(await itemsOf(['msg_a', 'msg_b'])).toEqual(['msg_b'])
    expect(bench.failures).toHaveLength(2)
    expect(await found('b')).toHaveLength(2)
  })

  it('because rows were exchanged is not taken for what it is not', async () => {
    await keep('a')
    await keep('b')
    const swap = (table: string, row: string, columns: string) =>
      [1, 2].map((at) => ({
        sql: `UPDATE ${table} SET (${columns}) = (SELECT ${columns} FROM ${table}_copy WHERE ${row} = ${3 - at}) WHERE ${row} = ${at}`,
        rows: [[]],
      }))
    await bench.file.atomic([
      { sql: 'CREATE TEMP TABLE items_copy AS SELECT * FROM items', rows: [[]] },
      ...swap('items', 'item', 'encoding, raw_bytes, sealed'),
      { sql: 'CREATE TEMP TABLE response_objects_copy AS SELECT * FROM response_objects', rows: [[]] },
      ...swap('response_objects', 'response', 'encoding, raw_bytes, sealed'),
    ])
    expect(await context('a')).toEqual({ kind: 'damaged' })
    expect(await bench.responses.find({ account: ACCOUNT }, 'resp_b')).toBe(undefined)
  })

  it('because the ring is another one stays as it is, and is there again with the right one', async () => {
    await keep('a')
    await bench.reopen({ sealingKeys: [{ ...OTHER_RING_KEY, id: 'k1' }] })
    expect(await context('a')).toEqual({ kind: 'damaged' })
    expect(await bench.responses.find({ account: ACCOUNT }, 'resp_a')).toBe(undefined)
    expect(await bench.responses.finish(ended('b'))).toBe(false)
    expect(await itemsOf(['msg_a'])).toEqual([])
    await bench.reopen({ sealingKeys: [OTHER_RING_KEY] })
    expect(await context('a')).toEqual({ kind: 'damaged' })
    await bench.reopen()
    expect(await found('a')).toHaveLength(2)
  })

  it('for ever heals when it has expired', async () => {
    await keep('a', { expiresAt: 2000 })
    await bench.reopen({ sealingKeys: [OTHER_RING_KEY] })
    bench.time = 2500
    await bench.responses.sweep()
    await keep('b')
    expect(await found('b')).toHaveLength(2)
  })
})

it('a response is stored once and said to be, while its database comes back, whether or not it was written before', async () => {
  const failing = ['before', 'after', 'before', 'after']
  const { atomic } = bench.file
  bench.file.atomic = async (statements) => {
    const when = failing.shift()
    const changed = when === 'before' ? [] : await atomic(statements)
    if (when !== undefined) throw new SqlFailure('the database system is shutting down', '57P03')
    return changed
  }
  const responses = createStoredResponses({
    ...{ file: bench.file, sealingKeys: [RING_KEY], now: () => bench.time, bytesMax: 100_000_000 },
    onFailure: (error) => bench.failures.push(error),
  })
  expect(await responses.begin(started('a'))).toBe(true)
  failing.push('before', 'after')
  expect(await responses.finish(ended('a'))).toBe(true)
  expect(failing).toEqual([])
  expect((await responses.find({ account: ACCOUNT }, 'resp_a'))?.status).toBe('completed')
  expect(await bench.count('responses')).toBe(1)
  expect(await responses.finish(ended('a'))).toBe(false)
  expect(bench.failures).toEqual([])
})

it('an item that is deleted between lookup and write is stored again', async () => {
  const keys = new Set<unknown>()
  for (let round = 0; round < 25; round++) {
    await keep(`first${round}`, { input: [userMessage('shared')], output: [], expiresAt: bench.time + 10 })
    const [row] = await bench.file.all('SELECT name FROM account_keys', [])
    keys.add(row?.name)
    bench.time += 100
    // The last response of the account goes, and the shared item and the key of the account with it.
    const next = ended(`next${round}`, {
      input: [userMessage('shared'), userMessage(`${round}`)],
      expiresAt: bench.time + 50,
    })
    const beginning = bench.responses.begin(started(`more${round}`, { expiresAt: bench.time + 50 }))
    const [kept] = await Promise.all([bench.responses.finish(next), bench.responses.sweep(), beginning])
    expect(kept).toBe(true)
    await bench.reopen()
    expect(await found(`next${round}`)).toHaveLength(3)
    expect(await bench.responses.recover()).toBe(1)
    bench.time += 100
    await bench.responses.sweep()
    expect(await bench.count('items')).toBe(0)
  }
  expect(keys.size).toBe(25)
  expect(bench.failures).toEqual([])
})

it('a rotated keyring opens what the older key wrapped, and rewraps it', async () => {
  await keep('a')
  await bench.reopen({ sealingKeys: [OTHER_RING_KEY, RING_KEY] })
  expect(await found('a')).toHaveLength(2)
  await bench.reopen({ sealingKeys: [OTHER_RING_KEY] })
  expect(await found('a')).toHaveLength(2)
  await bench.reopen({ sealingKeys: [RING_KEY] })
  expect(await context('a')).toEqual({ kind: 'damaged' })
})

it('a process that died leaves what was running failed, and what had ended as it was', async () => {
  await bench.responses.begin(started('a'))
  await keep('b')
  await bench.reopen()
  expect(await bench.responses.recover()).toBe(1)
  expect(await bench.responses.recover()).toBe(0)
  const failed = JSON.parse(String((await bench.responses.find({ account: ACCOUNT }, 'resp_a'))?.body))
  expect(failed).toMatchObject({ id: 'resp_a', status: 'failed', error: { code: 'server_error' }, output: [] })
  expect(await context('a')).toEqual({ kind: 'not-finished', status: 'failed' })
  expect(await bench.responses.finish(ended('a'))).toBe(false)
  expect(await found('b')).toHaveLength(2)
})

it('an account that was closed has no key, nothing that is shown, and nothing that comes later', async () => {
  for (let at = 0; at < 120; at++) await keep(`a${at}`, { parent: at === 0 ? undefined : `resp_a${at - 1}` })
  await bench.responses.begin(started('running'))
  await keep('theirs', { account: STRANGER })
  const [row] = await bench.file.all(
    "SELECT wrapped FROM account_keys JOIN owners ON owner = account WHERE id = 'acct_seven'",
    [],
  )
  const wrapped = Buffer.from(row?.wrapped as Uint8Array)
  expect(bench.rawBytes().includes(wrapped)).toBe(true)
  const late = bench.responses.finish(ended('late'))
  await bench.responses.forgetAccount(ACCOUNT)
  expect(bench.rawBytes().includes(wrapped)).toBe(false)
  expect(await bench.responses.find({ account: ACCOUNT }, 'resp_a3')).toBe(undefined)
  await late
  expect(await bench.responses.finish(ended('running'))).toBe(false)
  const newcomer = bench.responses.finish(ended('new', { account: 'acct_twelve' as AccountId }))
  await bench.responses.forgetAccount('acct_twelve' as AccountId)
  expect(await newcomer).toBe(false)
  await bench.responses.sweep()
  expect(await bench.count('responses')).toBe(1)
  expect((await bench.responses.find({ account: STRANGER }, 'resp_theirs'))?.status).toBe('completed')
})
