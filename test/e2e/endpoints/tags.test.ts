import { beforeAll, describe, expect, it } from 'vitest'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get } from '../../support/send-chat.ts'
import { nanoOf, openAccount, type TestAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()
let account: TestAccount
let owner: ConsolePerson

beforeAll(async () => {
  account = await openAccount(server())
  owner = await signUp(server(), { email: 'tags@example.com', account: account.id })
})

const tagged = (tags: string | undefined, key = account.key, path = '/chat/completions') =>
  chat(
    server(),
    { key },
    { max_tokens: 5, ...(path === '/responses' && { messages: undefined, input: 'Hello' }) },
    { path, ...(tags !== undefined && { headers: { 'x-millrace-tags': tags } }) },
  )

const DAYS = { zone: 'UTC', step: 'day' } as const
const days = () => {
  const at = server().app.operations.clock.now()
  const day = (offset: number) => new Date(at + offset * 86_400_000).toISOString().slice(0, 10)
  return { ...DAYS, from: day(-1), to: day(2) }
}

describe('x-millrace-tags', () => {
  it('is on the receipt of a request, by Chat and by Responses', async () => {
    const answer = await tagged('repo=millrace, branch=feature/x')
    expect(answer.status).toBe(200)
    const { json } = await get(server(), account, `/requests/${answer.requestId}`)
    expect(json.tags).toEqual({ branch: 'feature/x', repo: 'millrace' })
    expect((await owner.call('GET /requests/:request', { params: { request: answer.requestId } })).tags).toEqual(
      json.tags,
    )
    const other = await tagged('repo=other', account.key, '/responses')
    expect((await get(server(), account, `/requests/${other.requestId}`)).json.tags).toEqual({ repo: 'other' })
    const without = await tagged(undefined)
    expect((await get(server(), account, `/requests/${without.requestId}`)).json.tags).toBeNull()
    const [stored] = (await account.receipts()).filter(({ request_id }) => request_id === without.requestId)
    expect(stored!.tags).toBeNull()
  })

  it('is refused before anything is spent if it is wrong, and says what is', async () => {
    const before = await account.wallet()
    for (const [tags, message] of [
      ['repo', /"repo" has no `=`/],
      ['Repo=a', /"Repo" is not a name/],
      ['repo=a, repo=b', /`repo` is given twice/],
      ['a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1', /more than 8 tags/],
    ] as const) {
      const refused = await tagged(tags)
      expectProblem(refused, 'invalid_value', { param: 'x-millrace-tags', message })
      expect(refused.status).toBe(400)
    }
    expect(await account.wallet()).toEqual(before)
  })

  it('finds requests, also where most have other tags', async () => {
    const key = await account.createKey()
    const wanted: string[] = []
    for (let turn = 0; turn < 12; turn++) {
      const isWanted = turn % 4 === 0
      const answer = await tagged(isWanted ? 'job=nightly' : `job=other-${turn}`, key.key)
      if (isWanted) wanted.unshift(answer.requestId)
    }
    const found: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await owner.call('GET /requests', {
        query: { tag: 'job:nightly', limit: 2, ...(after && { after }) },
      })
      found.push(...page.items.map(({ id }) => id))
      if (page.next === null) break
      after = page.next
    }
    expect(found).toEqual(wanted)
    const byKey = await owner.call('GET /requests', { query: { tag: 'job:nightly', key: key.id } })
    expect(byKey.items).toHaveLength(3)
    expect((await owner.send('GET /requests', { query: { tag: 'nightly' } })).status).toBe(400)
  })

  it('divides usage into parts that add up to the receipts, in reports, CSV and the API', async () => {
    const key = await account.createKey()
    for (const tags of ['team.x=a', 'team.x=a', 'team.x=b', 'repo=c', undefined]) await tagged(tags, key.key)
    const usage = await owner.call('GET /usage', { query: { ...days(), by: 'tag:team.x', key: key.id } })
    const receipts = (await account.receipts()).filter(
      ({ state, tags }) => state === 'settled' && tags?.includes('team.x'),
    )
    const spent = (value: string) =>
      receipts
        .filter(({ tags }) => tags === `["team.x:${value}"]`)
        .reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)
    const rows = new Map(usage.table.map(({ id, used }) => [id, used]))
    expect([...rows.keys()].toSorted()).toEqual(['none', 'team.x:a', 'team.x:b'])
    expect(rows.get('none')!.requests).toBe(2)
    for (const value of ['a', 'b']) expect(nanoOf(rows.get(`team.x:${value}`)!.wallet)).toBe(spent(value))
    const sum = usage.table.reduce((total, { used }) => total + nanoOf(used.wallet), 0n)
    expect(sum).toBe(nanoOf(usage.total.wallet))
    const whole = await owner.call('GET /usage', { query: { ...days(), by: 'tag:team.x' } })
    expect(whole.table.reduce((total, { used }) => total + used.requests, 0)).toBe(whole.total.requests)
    const { text } = await owner.send('GET /usage.csv', { query: { ...days(), by: 'tag:team.x', key: key.id } })
    expect(text.split('\n').filter((line) => /team\.x:a,a,2,/.test(line))).toHaveLength(1)
    const report = await server().operate('usage.report', { account: account.id, by: 'tag:team.x' })
    expect(report.table.find(({ id }) => id === 'team.x:b')?.used.requests).toBe(1)
    const model = await owner.send('GET /usage', { query: { ...days(), by: 'tag:team.x', model: 'swift' } })
    expect(model.error?.code).toBe('invalid_range')
  })
})
