import { beforeAll, describe, expect, it } from 'vitest'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { chat, hello } from '../../support/send-chat.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ config: PLANS_CONFIG })
let account: TestAccount
let owner: ConsolePerson
let member: ConsolePerson
let ofMember: { readonly key: string }

const ask = async (key: { readonly key: string }, run: string, tokens = 10) => {
  const body = { model: 'paid', max_tokens: tokens, messages: hello('count to 5000') }
  expect((await chat(server(), key, body, { headers: { 'x-millrace-run': run } })).status).toBe(200)
}
const showing = (person: ConsolePerson, run: string) => person.send('GET /runs/:run', { params: { run } })

beforeAll(async () => {
  account = await openAccount(server())
  owner = await signUp(server(), { email: 'boss@runs.example', account: account.id })
  member = await signUp(server(), { email: 'mel@runs.example', role: 'member', account: account.id })
  ofMember = await account.createKey({ person: 'mel@runs.example' })
  await ask(account, 'nightly; max=0.50; max_requests=9')
  await ask(ofMember, 'mine; max=0.10')
  await ask(ofMember, 'nightly.mine; parent=nightly; max=0.20')
  await ask(account, 'mine.other:1; parent=mine')
  await ask(account, 'counts-only')
})

describe('runs in the console', () => {
  it('are listed newest first with what is left of them', async () => {
    const { items, next } = await owner.call('GET /runs')
    expect(next).toBeNull()
    expect(items.map(({ id }) => id)).toEqual(['counts-only', 'mine.other:1', 'nightly.mine', 'mine', 'nightly'])
    expect(items[4]).toMatchObject({
      ...{ state: 'open', parent: null, budget: { cost: '0.50', requests: 9, tokens: null } },
      remaining: { cost: '0.48', requests: 7, tokens: null },
    })
    expect(items[2]).toMatchObject({ parent: 'nightly', remaining: { cost: '0.19' } })
    expect(items[0]).toMatchObject({ budget: { cost: null }, remaining: { cost: null } })
  })

  it('show their tree and what it has used, as the API of the keys does', async () => {
    const run = await owner.call('GET /runs/:run', { params: { run: 'nightly' } })
    expect(run).toMatchObject({
      ...{ used: { cost: '0.02', requests: 2 }, remaining: { cost: '0.48', requests: 7 }, all_listed: true },
      runs: [{ id: 'nightly.mine', used: { cost: '0.01', requests: 1 }, runs: [] }],
    })
    expect(await owner.call('GET /runs/:run', { params: { run: 'mine.other:1' } })).toMatchObject({ parent: 'mine' })
    const { items } = await owner.call('GET /requests', { query: { tag: 'run:nightly' } })
    expect(items).toHaveLength(1)
  })

  it('show a member those that their keys began, and the runs inside these', async () => {
    const { items } = await member.call('GET /runs')
    expect(items.map(({ id }) => id)).toEqual(['nightly.mine', 'mine'])
    for (const [run, status] of [
      ...([
        ['mine', 200],
        ['mine.other:1', 200],
        ['nightly.mine', 200],
      ] as const),
      ...([
        ['nightly', 404],
        ['counts-only', 404],
        ['none', 404],
        ['-', 404],
      ] as const),
    ])
      expect((await showing(member, run)).status, run).toBe(status)
    const seen = await member.call('GET /requests', { query: { tag: 'run:mine.other:1' } })
    expect(seen.items).toEqual([])
  })

  it('are hidden from people of other accounts', async () => {
    const { id } = await openAccount(server())
    const stranger = await signUp(server(), { email: 'stranger@runs.example', account: id })
    expect((await stranger.call('GET /runs')).items).toEqual([])
    expect((await showing(stranger, 'nightly')).error?.code).toBe('run_not_found')
  })

  it('of a key are changed in the console, and loosened only after a confirmation', async () => {
    const run = { each_conversation: { max: '0.50' } }
    const { key } = await owner.call('POST /keys', { body: { name: 'agent', kind: 'wallet', run } })
    expect(key.run).toEqual(run)
    server().advance(16 * 60_000)
    const change = async (next: typeof run | 'required' | null) => {
      const sent = { params: { key: key.id }, body: { run: next } }
      return (await owner.send('PATCH /keys/:key', sent)).error?.code ?? 'changed'
    }
    expect(await change(run)).toBe('changed')
    for (const next of [null, 'required', { each_conversation: { max: '0.60' } }] as const)
      expect(await change(next), JSON.stringify(next)).toBe('confirm_password')
    await owner.call('POST /session/confirm', { body: { password: 'a password for walks' } })
    expect(await change(null)).toBe('changed')
    server().advance(16 * 60_000)
    expect(await change('required')).toBe('changed')
  })
})
