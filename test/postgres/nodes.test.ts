import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { inviteFirstPerson, signUp } from '../../src/admin/invitations.ts'
import { signUp as signUpBody } from '../../src/contract/people.ts'
import { chatIn, type Item, shortly, toolMessagesOf } from '../e2e/reasoning/loops.ts'
import type { ReasoningServer } from '../e2e/reasoning/reasoning-server.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { responsesAnswer } from '../fakes/responses-answers.ts'
import { createAdminKey, sendToAdmin } from '../support/admin-api.ts'
import { PASSWORD, signUp as signUpAt } from '../support/console-session.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { answerOf, chat, get, hello, send } from '../support/send-chat.ts'
import { useDatabaseOf } from '../support/server-on-postgres.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { until } from '../support/until.ts'
import { postgres } from './postgres-ledger.ts'

const SECRET = 'key_ring: { secret_key: the-secret-that-the-nodes-of-a-test-share }\n'
/** Changes are known on every node within two seconds; the rest is for a busy machine. */
const KNOWN_WITHIN = { timeout: 10_000 }

/** In four copies each: a thousand requests. */
const KEYS = 100
const KEYS_AT_ONCE = 50

/** Several servers on one database. */
function useNodes(count: number, config = '') {
  let nodes: TestServer[] = []
  beforeEach(async () => {
    const text = `${TEST_CONFIG}${SECRET}${config}`
    const first = await startServer({ config: text })
    const prepare = (folder: string) => useDatabaseOf(first.folder, folder)
    const others = Array.from({ length: count - 1 }, () => startServer({ config: text, prepare }))
    nodes = [first, ...(await Promise.all(others))]
  })
  afterEach(async () => {
    for (const node of nodes.reverse()) await node.close()
  })
  return (number: number): TestServer => nodes[number]!
}

const query = (node: TestServer, sql: string) => node.content.all(sql, [])

describe.skipIf(!postgres)('two nodes on one PostgreSQL', () => {
  const node = useNodes(2)

  it('serve the same keys from one wallet', async () => {
    const account = await openAccount(node(0))
    const before = (await account.wallet()).balance
    for (const number of [0, 1]) expect((await chat(node(number), account)).status).toBe(200)
    const receipts = await account.receipts()
    const charged = receipts.reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)
    expect(receipts).toHaveLength(2)
    expect(before - (await account.wallet()).balance).toBe(charged)
    expect((await get(node(1), account, `/requests/${receipts[0]!.request_id}`)).json).toMatchObject({ kind: 'wallet' })
  })

  it.each([
    ['with its listening connection', async () => {}],
    [
      'also when that was lost',
      async () => {
        await query(
          node(0),
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'millrace signals'",
        )
      },
    ],
  ])('know what the other one has changed, %s', async (_, disturb) => {
    const account = await openAccount(node(0))
    const key = await account.createKey()
    expect((await chat(node(1), key)).status).toBe(200)
    await disturb()
    await node(0).operate('keys.revoke', { key: key.id })
    await expect.poll(async () => (await chat(node(1), key)).status, KNOWN_WITHIN).toBe(401)
    await node(0).operate('accounts.suspend', { account: account.id })
    await expect.poll(async () => (await chat(node(1), account)).status, KNOWN_WITHIN).toBe(403)
    await node(0).operate('accounts.activate', { account: account.id })
    await expect.poll(async () => (await chat(node(1), account)).status, KNOWN_WITHIN).toBe(200)
  })

  it('reject a revoked admin key at once, and what an admin key has changed soon', async () => {
    const account = await openAccount(node(0))
    const { id, secret } = await createAdminKey(node(0), ['accounts:write', 'admin-keys:read'])
    const ask = () => sendToAdmin(node(1), 'GET /admin-keys', { key: secret })
    expect((await ask()).status).toBe(200)
    const body = { status: 'suspended' }
    await sendToAdmin(node(1), 'PATCH /accounts/:account', { key: secret, params: { account: account.id }, body })
    await expect.poll(async () => (await chat(node(0), account)).status, KNOWN_WITHIN).toBe(403)
    await node(0).operate('admin-keys.revoke', { key: id })
    expect((await ask()).status).toBe(401)
  })

  it('make a change of the management API once, whichever of them is asked', async () => {
    const { id } = await openAccount(node(0))
    const { secret: key } = await createAdminKey(node(0), ['admin'])
    const balance = async () => Number((await node(0).operate('wallet.show', { account: id })).balance)
    const before = await balance()
    const credit = (number: number, idempotencyKey: string, ref: string) =>
      sendToAdmin(node(number % 2), 'POST /accounts/:account/wallet/credit', {
        ...{ key, params: { account: id }, headers: { 'idempotency-key': idempotencyKey } },
        body: { amount: '1.00', reason: 'Invoice', ref },
      })
    for (let round = 0; round < 5; round++) {
      // Another reference in each body: only the key tells that they are one.
      const answers = await Promise.all(
        Array.from({ length: 6 }, (_, at) => credit(at, `r${round}`, `r${round}-${at}`)),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(await balance()).toBe(before + 2 * round + 1)
      const same = await Promise.all(Array.from({ length: 6 }, (_, at) => credit(at, `s${round}`, `s${round}`)))
      const ran = same.filter(({ status, headers }) => status === 200 && headers.get('idempotency-replayed') === null)
      expect(ran.map(({ json }) => json.repeated)).toEqual([false])
      for (const number of [0, 1]) expect((await credit(number, `s${round}`, `s${round}`)).text).toBe(ran[0]!.text)
      expect(await balance()).toBe(before + 2 * round + 2)
    }
  })

  it('replay an answer of the other one, byte for byte, and charge it once', async () => {
    const account = await openAccount(node(0))
    const body = { model: 'swift', stream: true, messages: hello('count to 20') }
    const options = { headers: { 'idempotency-key': 'one-for-both' } }
    const first = await (await send(node(0), account, body, options)).text()
    const again = await send(node(1), account, body, options)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await again.text()).toBe(first)
    const other = await answerOf(await send(node(1), account, { ...body, messages: hello('other') }, options))
    expectProblem(other, 'idempotency_key_reused')
    expect(await account.receipts()).toHaveLength(1)
  })

  it('continue a conversation and a stored stream of the other one', async () => {
    const account = await openAccount(node(0))
    const path = '/responses'
    const body = { model: 'swift', stream: true, input: 'count to 10', store: true }
    const stream = await (await send(node(0), account, body, { path })).text()
    const { id } = JSON.parse(/^data: (.*"type":"response.completed".*)$/m.exec(stream)![1]!).response
    const stored = await fetch(`${node(1).baseUrl}/responses/${id}?stream=true&starting_after=2`, {
      headers: { authorization: `Bearer ${account.key}` },
    })
    const rest = await stored.text()
    const frames = stream.split('\n\n').filter((frame) => frame.includes('"sequence_number"'))
    expect(rest.split('\n\n').filter((frame) => frame.includes('"sequence_number"'))).toEqual(frames.slice(3))
    const next = { model: 'swift', input: 'and again', previous_response_id: id }
    expect((await answerOf(await send(node(1), account, next, { path }))).status).toBe(200)
  })

  it('each have a link for the first person, and of two people with one each only one becomes an operator', async () => {
    const links = [0, 1].map(async (number) => (await inviteFirstPerson(node(number).app.operations.people))!.code)
    const codes = await Promise.all(links)
    const client = { address: '127.0.0.1', agent: 'test' }
    const outcomes = await Promise.all(
      codes.map((code, number) => {
        const body = signUpBody.parse({ code, password: PASSWORD, email: `user${number}@example.com` })
        return signUp(node(number).app.operations.people, body, client)
      }),
    )
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['done', 'refused'])
    expect(await query(node(0), 'SELECT count(*) AS people FROM people WHERE row > 0')).toEqual([{ people: 1 }])
  })

  it('refuse the keys of a person whom the other one has disabled', async () => {
    const account = await openAccount(node(0))
    const person = await signUpAt(node(0), { email: 'someone@example.com', role: 'member', account: account.id })
    const { secret: key } = await person.call('POST /keys', { body: { name: 'theirs', kind: 'wallet' } })
    expect((await chat(node(1), { key })).status).toBe(200)
    await node(0).operate('people.disable', { person: person.email })
    await expect.poll(async () => (await chat(node(1), { key })).status, KNOWN_WITHIN).toBe(401)
    await node(0).operate('people.enable', { person: person.email })
    await expect.poll(async () => (await chat(node(1), { key })).status, KNOWN_WITHIN).toBe(200)
  })

  it('leave an account one owner, also when two demote each other at once', async () => {
    const { id: account } = await openAccount(node(0))
    const owners = await Promise.all(
      [0, 1].map((number) => signUpAt(node(number), { email: `owner-${number}@example.com`, account })),
    )
    const { items } = await owners[0]!.call('GET /members')
    const answers = await Promise.all(
      owners.map(({ email, send }) => {
        const person = items.find((other) => other.email !== email)!.id
        return send('PATCH /members/:person', { params: { person }, body: { role: 'viewer' } })
      }),
    )
    expect(answers.map(({ status }) => status).toSorted(), answers.map(({ text }) => text).join()).toEqual([200, 409])
    const { items: after } = await node(0).operate('people.list', { account })
    expect(after.map(({ role }) => role).toSorted()).toEqual(['owner', 'viewer'])
  })

  it('record a price once, also when they start at once', async () => {
    const text = `${TEST_CONFIG.replaceAll('"0.40"', '"0.41"')}${SECRET}`
    await Promise.all([0, 1].map((number) => node(number).reload(text)))
    const versions = await query(node(0), "SELECT version, terms FROM prices WHERE model = 'swift' ORDER BY version")
    expect(versions.map(({ version }) => version)).toEqual([1, 2])
  })

  it('count usage once', async () => {
    const account = await openAccount(node(0))
    await Promise.all(Array.from({ length: 20 }, (_, turn) => chat(node(turn % 2), account)))
    const requests = async () =>
      (
        await query(
          node(0),
          "SELECT SUM(requests) AS requests FROM usage JOIN usage_series ON usage_series.series = usage.series WHERE level = 'all'",
        )
      )[0]
    await until(async () => Number((await requests())?.requests) === 20)
  })
})

describe.skipIf(!postgres)('a limit on requests, with four nodes', () => {
  const node = useNodes(4, 'limits: { key: { requests_per_minute: 10, burst: 60s } }\n')

  it('lets through what it says, and no more', async () => {
    const account = await openAccount(node(0))
    const answers = await Promise.all(Array.from({ length: 40 }, (_, turn) => chat(node(turn % 4), account)))
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(10)
    expect(statuses.filter((status) => status === 429)).toHaveLength(30)
  })
})

describe.skipIf(!postgres)('a wallet for ten requests, with four nodes', () => {
  const node = useNodes(4)

  it('serves ten of forty, and ends at zero', async () => {
    // `paid` costs its output only, and a hold is what it charges.
    const account = await openAccount(node(0), { credit: '0.05' })
    const body = { model: 'paid', max_tokens: 5, messages: hello('count to 5') }
    const ask = (turn: number) => chat(node(turn % 4), account, body)
    const answers = await Promise.all(Array.from({ length: 40 }, (_, turn) => ask(turn)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 402 || status === 429)).toHaveLength(30)
    expect(await account.wallet()).toEqual({ balance: 0n, held: 0n, available: 0n })
  })

  it('charges each of many duplicates once, and gives all of them the same bytes', async () => {
    const account = await openAccount(node(0))
    const ask = async (key: number, copy: number): Promise<string> => {
      const options = { headers: { 'idempotency-key': `key-${key}` } }
      for (;;) {
        const response = await send(node((key + copy) % 4), account, { model: 'swift', messages: hello() }, options)
        const text = await response.text()
        if (response.status === 200) return text
        expect(JSON.parse(text).error.code).toBe('idempotency_in_progress')
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
    }
    for (let first = 0; first < KEYS; first += KEYS_AT_ONCE) {
      const keys = Array.from({ length: KEYS_AT_ONCE }, (_, key) => first + key)
      const all = await Promise.all(keys.map((key) => Promise.all([0, 1, 2, 3].map((copy) => ask(key, copy)))))
      for (const copies of all) expect(new Set(copies).size).toBe(1)
    }
    expect(await account.receipts()).toHaveLength(KEYS)
  })
})

describe.skipIf(!postgres)('a chat conversation with sealed reasoning that moves to another node', () => {
  let upstream: FaultUpstream
  let nodes: TestServer[]
  const seals = new Map<string, string>()
  const parameters = { type: 'object', properties: { q: { type: 'string' } } }
  const body = {
    ...({ model: 'mind', delivery: 'stream', reasoning_effort: 'low' } as const),
    tools: ['look_up', 'ping'].map((name) => ({ type: 'function', function: { name, parameters } })),
  }

  beforeAll(async () => {
    const script = responsesAnswer('everything', { name: 'first', seals })
    upstream = await startFaultUpstream(() => script)
    const config = `${SECRET}
upstreams: [{ id: first, wire: responses, dialect: openai, base_url: "${upstream.baseUrl}", allow_private: true }]
models:
  - id: mind
    context_tokens: 128000
    max_output_tokens: 8192
    efforts: [low]
    price: { input: "1", output: "2" }
    lanes: [{ upstream: first, model: mind }]
`
    const first = await startServer({ config })
    const prepare = (folder: string) => useDatabaseOf(first.folder, folder)
    nodes = [first, await startServer({ config, prepare })]
  })
  afterAll(async () => {
    for (const node of nodes.reverse()) await node.close()
    await upstream.close()
  })

  it('goes on with the reasoning that led to its calls', async () => {
    const account = await openAccount(nodes[0]!)
    const messages: Item[] = [{ role: 'user', content: 'Use look_up then ping.' }]
    const given: string[] = []
    for (const number of [0, 1, 0]) {
      const answer = await chatIn({ server: nodes[number] } as ReasoningServer, account, { ...body, messages })
      messages.push(answer, ...toolMessagesOf(answer, 'found'))
      given.push([...seals.keys()].at(-1)!)
      // It is stored in the background.
      if (number < 2) await until(async () => (await query(nodes[0]!, 'SELECT name FROM call_seals')).length > number)
    }
    const history = ['user', given[0], 'look_up()', 'result', given[1], 'ping()', 'result']
    const sent = upstream.providerAnswers.map(({ receivedRequest }) => shortly(receivedRequest.input as Item[]))
    expect(sent).toEqual([history.slice(0, 1), history.slice(0, 4), history])
    const stored = await query(nodes[0]!, 'SELECT sealed FROM call_seals')
    expect(stored).toHaveLength(2)
    expect(JSON.stringify(stored)).not.toContain('sealed-by')
  })
})
