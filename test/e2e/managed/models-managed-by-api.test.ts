import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createAdminKey, sendToAdmin } from '../../support/admin-api.ts'
import { signUp } from '../../support/console-session.ts'
import { chat } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'

let running: TestServer
beforeEach(async () => {
  running = await startServer()
})
afterEach(() => running.close())
const server = () => running

const sandbox = (more: object = {}) => ({
  ...{ id: 'sandbox-1', context_tokens: 128_000, max_output_tokens: 1000, price: { input: '0', output: '500' } },
  lanes: [{ upstream: 'sandbox', model: 'demo-fast' }],
  ...more,
})
const UPSTREAM = { id: 'sandbox', wire: 'demo' }

async function operator() {
  const { secret: key } = await createAdminKey(server(), ['admin'])
  return (name: Parameters<typeof sendToAdmin>[1], sent: object = {}) => sendToAdmin(server(), name, { key, ...sent })
}

describe('an operator without a shell', () => {
  it('adds a provider and a model, and a request is charged by its price', async () => {
    const ask = await operator()
    const added = await ask('POST /managed', { body: { upstreams: [UPSTREAM], models: [sandbox()] } })
    expect([added.status, added.json.not_applied]).toEqual([200, null])
    const { id } = (await ask('POST /accounts', { body: { email: 'new@example.com' } })).json as { id: string }
    await ask('POST /accounts/:account/wallet/credit', {
      params: { account: id },
      body: { amount: '5.00', reason: 'Invoice', ref: '1' },
    })
    const made = await ask('POST /keys', { body: { account: id, kind: 'wallet', name: 'first' } })
    const { status, json } = await chat(server(), { key: made.json.secret as string }, { model: 'sandbox-1' })
    expect(status).toBe(200)
    const { completion_tokens: output } = (json as unknown as { usage: { completion_tokens: number } }).usage
    const { balance } = await server().operate('wallet.show', { account: id })
    expect(nanoOf('5.00') - nanoOf(balance)).toBe(BigInt(output) * 500_000n)
  })

  it('changes a price at once, retires the model, and the history keeps both', async () => {
    const ask = await operator()
    const account = await openAccount(server())
    await ask('POST /managed', { body: { upstreams: [UPSTREAM], models: [sandbox()] } })
    await chat(server(), account, { model: 'sandbox-1' })
    const cheap = await ask('POST /managed', {
      body: { prices: [{ model: 'sandbox-1', price: { input: '0', output: '0' } }] },
    })
    expect(cheap.status).toBe(200)
    const before = (await account.wallet()).balance
    await chat(server(), account, { model: 'sandbox-1' })
    expect((await account.wallet()).balance).toBe(before)
    expect((await account.receipts()).map(({ price_version }) => price_version)).toEqual([1, 2])
    await ask('POST /managed', { body: { retire: [{ kind: 'model', name: 'sandbox-1' }] } })
    expect((await chat(server(), account, { model: 'sandbox-1' })).status).toBe(404)
    const history = await ask('GET /managed/history', { query: { kind: 'model', name: 'sandbox-1' } })
    expect((history.json.items as { what: string }[]).map(({ what }) => what)).toEqual(['model', 'price', 'model'])
    const { items } = (await ask('GET /audit', { query: { limit: 3 } })).json as { items: { detail: string }[] }
    expect(items.map(({ detail }) => detail)).toEqual([
      'model sandbox-1 retired',
      'price sandbox-1 output "500" → "0"',
      expect.stringMatching(/^upstream sandbox created: .*; model sandbox-1 created: .*price.output none → "500"/),
    ])
  })

  it('is refused where the file has the name, with its line', async () => {
    const ask = await operator()
    for (const body of [
      { models: [sandbox({ id: 'swift' })] },
      { retire: [{ kind: 'model', name: 'swift' }] },
      { prices: [{ model: 'swift', price: { input: '0', output: '0' } }] },
    ]) {
      const { status, error } = await ask('POST /managed', { body })
      expect([status, error?.code]).toEqual([409, 'owned_by_file'])
      expect(error?.message).toMatch(/model swift: millrace.yaml:\d+:\d+/)
    }
  })

  it('lists the models of the file with their prices', async () => {
    const ask = await operator()
    const { items } = (await ask('GET /managed')).json as {
      items: { name: string; kind: string; price: object | null }[]
    }
    const price = { input: '0.00', output: '1000.00', tiers: [], per_request: '0.00' }
    expect(items.find(({ kind, name }) => kind === 'model' && name === 'paid')?.price).toMatchObject(price)
    expect(items.filter(({ kind }) => kind !== 'model').every((each) => each.price === null)).toBe(true)
  })

  it('makes no half of a change, and none that would make the configuration invalid', async () => {
    const ask = await operator()
    const { status, error } = await ask('POST /managed', {
      body: { upstreams: [UPSTREAM], models: [sandbox({ lanes: [{ upstream: 'sandbx', model: 'x' }] })] },
    })
    expect([status, error?.code]).toEqual([400, 'managed_invalid'])
    expect(error?.message).toMatch(/managed model sandbox-1 {2}lanes\[0\].upstream: there is no upstream "sandbx"/)
    expect((await ask('GET /managed')).json.revision).toBe(0)
    await ask('POST /managed', { body: { upstreams: [UPSTREAM], models: [sandbox()] } })
    const used = await ask('POST /managed', { body: { retire: [{ kind: 'upstream', name: 'sandbox' }] } })
    expect(used.error?.code).toBe('managed_invalid')
    const stale = await ask('POST /managed', { body: { models: [sandbox({ id: 'other' })], revision: 0 } })
    expect([stale.status, stale.error?.code]).toEqual([409, 'managed_outdated'])
  })

  it('never sees a secret again, and a new address does not get the old one', async () => {
    const ask = await operator()
    const acme = { id: 'acme', wire: 'chat', base_url: 'https://api.example.com/v1' }
    const saved = await ask('POST /managed', {
      body: { upstreams: [{ ...acme, api_key: 'sk-not-to-be-seen', headers: { 'x-org': 'org-not-to-be-seen' } }] },
    })
    const texts = [saved, await ask('GET /managed'), await ask('GET /managed.yaml'), await ask('GET /audit')]
    const { items } = saved.json as { items: { name: string; secrets: string[] }[] }
    expect(items.find(({ name }) => name === 'acme')?.secrets).toEqual(['api_key', 'headers.x-org'])
    texts.push(await ask('GET /managed/history', { query: { kind: 'upstream', name: 'acme' } }))
    // Also of a change that is refused, whose problem is beside the secret or in it.
    for (const wrong of [{ api_key: 'sk not-to-be-seen' }, { headers: { 'x-org': 'not-to-be-seen\n' } }, { wire: 'x' }])
      texts.push(
        await ask('POST /managed', { body: { upstreams: [{ ...acme, api_key: 'sk-not-to-be-seen', ...wrong }] } }),
      )
    for (const { text } of texts) expect(text).not.toMatch(/not-to-be-seen/)
    expect(texts[2]!.text).toMatch(/api_key: \$\{ACME_API_KEY\}/)
    const rows = await server().app.operations.files.ledger.all('SELECT * FROM managed_entries WHERE row > 0', [])
    expect(rows.map((row) => Buffer.from(row.sealed as Uint8Array).toString('latin1') + row.entry).join()).not.toMatch(
      /not-to-be-seen/,
    )
    const kept = await ask('POST /managed', { body: { upstreams: [{ ...acme, timeouts: { idle: '20s' } }] } })
    expect((kept.json.items as typeof items).find(({ name }) => name === 'acme')?.secrets).toHaveLength(2)
    const moved = await ask('POST /managed', {
      body: { upstreams: [{ ...acme, base_url: 'https://evil.example/v1' }] },
    })
    expect([moved.status, moved.error?.code]).toEqual([400, 'managed_key_needed'])
  })

  const HOSTILE: readonly (readonly [string, object | string])[] = [
    ['a private address', { upstreams: [{ id: 'a', wire: 'chat', base_url: 'http://127.0.0.1:1/v1' }] }],
    ['deep nesting', `{"models": [${'{"a":'.repeat(9000)}1${'}'.repeat(9000)}]}`],
    ['a prototype', { models: [JSON.parse('{"id":"x","__proto__":{"price":1}}')] }],
    ['a long id', { models: [sandbox({ id: 'x'.repeat(300) })] }],
    ['control characters', { models: [sandbox({ id: 'a\u0000b' })] }],
    ['one name twice', { upstreams: [UPSTREAM, UPSTREAM] }],
    [
      'a price in the past',
      { prices: [{ model: 'sandbox-1', price: { input: '1', output: '1' }, from: '2020-01-01' }] },
    ],
    ['a price that is none', { prices: [{ model: 'sandbox-1', price: { input: -1 } }] }],
    ['a variable for a number', { models: [sandbox({ context_tokens: `\${HOME}` })] }],
    ['a key that is no text', { upstreams: [{ ...UPSTREAM, id: 'b', wire: 'chat', api_key: { a: 1 } }] }],
  ]
  it('is refused what is hostile', async () => {
    const ask = await operator()
    await ask('POST /managed', { body: { upstreams: [UPSTREAM], models: [sandbox()] } })
    for (const [what, body] of HOSTILE) {
      const { status, error } = await ask('POST /managed', { body })
      expect(status, what).toBe(400)
      expect(error?.message, what).not.toMatch(/undefined|\[object/)
    }
    expect((await ask('GET /managed')).json.revision).toBe(2)
  })

  it('confirms the password in the console, and its person is who made it', async () => {
    const browser = await signUp(server(), { email: 'boss@example.com', role: 'operator' })
    const answer = await browser.call('POST /operate/managed', { body: { upstreams: [UPSTREAM] } })
    expect(answer.items[0]).toMatchObject({ name: 'sandbox', created_by: 'boss@example.com' })
  })
})

describe('a file that has the name of a managed entry', () => {
  it('decides, says so, and gives the name back', async () => {
    const ask = await operator()
    const account = await openAccount(server())
    await ask('POST /managed', { body: { upstreams: [UPSTREAM], models: [sandbox()] } })
    const path = join(server().folder, 'millrace.yaml')
    const before = await readFile(path, 'utf8')
    const { text } = await ask('GET /managed.yaml')
    await writeFile(join(server().folder, 'managed.yaml'), text.replace('"500"', '"1000"'))
    await writeFile(path, `include: [managed.yaml]\n${before}`)
    await server().app.managed.apply()
    expect((await chat(server(), account, { model: 'sandbox-1' })).status).toBe(200)
    expect((await account.receipts()).map(({ price_version }) => price_version)).toEqual([2])
    const listed = (await ask('GET /managed')).json.items as { name: string; file: string | null }[]
    expect(listed.filter(({ name }) => name.startsWith('sandbox')).map(({ file }) => file)).toEqual([
      expect.stringMatching(/^managed.yaml:\d/),
      expect.stringMatching(/^managed.yaml:\d/),
    ])
    expect((await ask('POST /managed', { body: { models: [sandbox()] } })).error?.code).toBe('owned_by_file')
    await writeFile(path, before)
    await server().app.managed.apply()
    await chat(server(), account, { model: 'sandbox-1' })
    expect((await account.receipts()).map(({ price_version }) => price_version)).toEqual([2, 3])
  })
})
