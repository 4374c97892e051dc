import { beforeEach, describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { insertKey } from '../../test/fixtures/db/set-up.ts'
import { keyItem, keysQuery, listedKey } from '../contract/owner.ts'
import type { AccountRow } from '../model/ids.ts'
import { type CreatedKey, changeKey, createKey, listOwnKeys, revokeKey, rotateKey, showOwnKey } from './keys.ts'
import { playgroundKey } from './playground.ts'

const ADA = 1 as AccountRow
const BEN = 2 as AccountRow

const fixture = useTestLedger({ owners: ['ada', 'ben'] })
let services: Parameters<typeof listOwnKeys>[0]
let used: Map<number, number>

beforeEach(() => {
  used = new Map()
  services = {
    ...fixture.services,
    lastUsed: async (_account, rows) => new Map([...used].filter(([row]) => rows.includes(row))),
  }
})

async function make(name: string, owner: 'ada' | 'ben' = 'ada', terms = {}): Promise<CreatedKey> {
  const outcome = await createKey(fixture.services, { account: `${owner}@example.com`, kind: 'wallet', name, ...terms })
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  return outcome.value
}

async function list(args: object = {}, account = ADA) {
  const outcome = await listOwnKeys(services, { account }, keysQuery.parse(args))
  if (outcome.kind === 'refused') throw new Error(outcome.message)
  expect(outcome.value.items.map((item) => listedKey.parse(item))).toEqual(outcome.value.items)
  return outcome.value
}

describe('the keys of an account', () => {
  it('are searched by name and model', async () => {
    const models = [...Array.from({ length: 20 }, () => 'demo'), 'dem*']
    await make('Build server', 'ada', { models })
    await make('laptop')
    await make('their build', 'ben', { models })
    const found = async (search: string) => (await list({ search })).items.map(({ name }) => name)
    expect(await found('DEM*')).toEqual(['Build server'])
    expect(await found(' BUILD dem* ')).toEqual(['Build server'])
    expect(await found('laptop dem*')).toEqual([])
    expect(await found(' ')).toEqual(['laptop', 'Build server'])
    expect(await found('key_'), 'an id that no list shows').toEqual([])
    expect(await found('build '.repeat(30))).toEqual(['Build server'])
  })

  it('are searched for a limited number of words', () => {
    expect(keysQuery.safeParse({ search: 'a b c d e f g h A' }).success).toBe(true)
    expect(keysQuery.safeParse({ search: 'a b c d e f g h i' }).error?.issues[0]?.message).toBe(
      'has more than 8 different words',
    )
  })

  it('are listed with all facts for their owner', async () => {
    await make('first')
    const made = await make('second', 'ada', { caps: { day: '5.00', month: '9.00' }, limits: { concurrent: 2 } })
    await make('third', 'ada', { caps: { month: '7.00' }, models: ['demo', 'dem*'] })
    used.set(2, Date.UTC(2026, 10, 22))
    await rotateKey(fixture.services, { key: made.id, grace: '1h' })
    await changeKey(fixture.services, { key: made.id, disabled: true })
    await playgroundKey(fixture.services, { account: ADA, person: null }, 'builder')
    const { items, next } = await list()
    expect(next).toBeNull()
    expect(items.map(({ name, playground, caps }) => [name, playground, caps.map(({ limit }) => limit)])).toEqual([
      ['Playground', true, []],
      ['third', false, ['7.00']],
      ['second', false, ['5.00', '9.00']],
      ['first', false, []],
    ])
    expect(items.map(({ models }) => models)).toEqual([null, { count: 2, first: ['demo', 'dem*'] }, null, null])
    expect(items[2]).toMatchObject({
      ...{ id: made.id, state: 'disabled', last_used_at: '2026-11-22T00:00:00.000Z' },
      ...{ limits: { requests_per_minute: null, tokens_per_minute: null, concurrent: 2 } },
      ...{ caps: [{ name: 'day', used: '0.00', held: '0.00', left: '5.00' }, { name: 'month' }] },
      former: { shown: made.shown },
    })
    expect(await showOwnKey(services, { account: ADA }, made.id)).toEqual({
      kind: 'done',
      value: { ...items[2], shared: [] },
    })
  })

  it('fill at most a megabyte per page', async () => {
    // Patterns of the longest names that match something.
    const models = Array.from({ length: 500 }, (_, index) => `${'*'.repeat(199 - (index % 100))}o`)
    const { id } = await make('long', 'ada', { models })
    const [row] = await fixture.services.db.selectFrom('keys').selectAll().where('id', '=', id).execute()
    for (let more = 0; more < 199; more++) {
      const next = {
        ...row!,
        row: undefined,
        id: `${id}${more}`,
        digest: Buffer.from(`digest ${more}`),
        name: 'n'.repeat(100),
      }
      await insertKey(fixture.services.db, next)
    }
    const page = await list({ limit: 200 })
    expect(page.items).toHaveLength(200)
    expect(page.items[0]!.models).toEqual({ count: 500, first: models.slice(0, 10) })
    expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(1_000_000)
    const shown = await showOwnKey(services, { account: ADA }, id)
    expect(shown).toMatchObject({ kind: 'done', value: { models } })
    expect(keyItem.safeParse(shown.kind === 'done' && shown.value).success).toBe(true)
  })

  it('are limited in number, without revoked ones', async () => {
    const two = { ...fixture.services, liveKeysMax: () => 2 }
    const order = { account: 'ada@example.com', kind: 'wallet', name: 'more' } as const
    await playgroundKey(fixture.services, { account: ADA, person: null }, 'wallet')
    const { id } = await make('first')
    const tries = await Promise.all(Array.from({ length: 5 }, () => createKey(two, order)))
    expect(tries.map((outcome) => (outcome.kind === 'refused' ? outcome.reason : outcome.kind)).toSorted()).toEqual([
      'done',
      ...Array<string>(4).fill('too_many_keys'),
    ])
    await revokeKey(fixture.services, { key: id })
    expect((await createKey(two, order)).kind).toBe('done')
    expect(await createKey(two, order)).toMatchObject({
      reason: 'too_many_keys',
      message: expect.stringContaining('2 keys'),
    })
    expect((await createKey(two, { ...order, account: 'ben@example.com' })).kind).toBe('done')
  })

  it('come in pages, each once, while others are created', async () => {
    for (let made = 0; made < 7; made++) {
      await make(`key ${made}`)
      await make(`other ${made}`, 'ben')
    }
    const names: string[] = []
    let after: string | null = null
    do {
      const page: Awaited<ReturnType<typeof list>> = await list({ limit: 3, ...(after !== null && { after }) })
      expect(page.items.length).toBeLessThanOrEqual(3)
      names.push(...page.items.map(({ name }) => name))
      after = page.next
      await make('meanwhile')
    } while (after !== null)
    expect(names).toEqual([6, 5, 4, 3, 2, 1, 0].map((made) => `key ${made}`))
  })

  it('of other accounts do not exist, also as a cursor', async () => {
    const { id } = await make('mine')
    const unknown = 'key_00000000000000000000000000'
    for (const ask of [
      (key: string) => showOwnKey(services, { account: BEN }, key),
      (key: string) => listOwnKeys(services, { account: BEN }, { after: key, limit: 10 }),
    ]) {
      const [foreign, none] = [await ask(id), await ask(unknown)]
      expect(foreign).toMatchObject({ kind: 'refused', reason: 'key_not_found' })
      expect(JSON.stringify(foreign).replaceAll(id, unknown)).toBe(JSON.stringify(none))
    }
    expect(await list({}, BEN)).toEqual({ items: [], next: null })
  })
})
