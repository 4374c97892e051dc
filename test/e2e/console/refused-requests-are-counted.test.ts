import { expect, it } from 'vitest'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

/** No process listens on port 9 of this machine: a request for it is admitted, fails, and has a receipt. */
const CONFIG = TEST_CONFIG.replace(
  'models:\n',
  `  - { id: nobody, wire: chat, base_url: "http://127.0.0.1:9/v1", allow_private: true }
models:
  - id: lost
    context_tokens: 128000
    max_output_tokens: 100
    price: { input: "1.00", output: "2.00" }
    lanes: [{ upstream: nobody, model: lost }]
`,
)

const server = useServer({ config: CONFIG })
const dayFromNow = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
/** The first day that is surely over after this test. */
const FAR = dayFromNow(2)

async function reasons(person: ConsolePerson, over: object = {}): Promise<Record<string, number>> {
  const query = { from: dayFromNow(-60), to: FAR, zone: 'UTC', step: 'month', ...over } as const
  const { reasons: reported } = await person.call('GET /usage/refused', { query })
  return Object.fromEntries(reported.map(({ code, total }) => [code, total]))
}

it('early refusals are counted by reason; requests with receipts are not', async () => {
  const account = await openAccount(server())
  const owner = await signUp(server(), { email: 'counted@example.com', account: account.id })
  const narrow = await account.createKey({ name: 'narrow', limits: { requests_per_minute: 1 } })
  const sendTurn = async (key: string, body: object = {}) => {
    const response = await send(server(), { key }, { model: 'swift', messages: hello(), ...body })
    await response.text()
    return response.status
  }
  expect(await sendTurn(account.key)).toBe(200)
  expect(await sendTurn(account.key, { model: 'lost' })).toBe(503)
  expect(await sendTurn(account.key, { model: 'none such' })).toBe(404)
  expect(await sendTurn(account.key, { messages: 'hello' })).toBe(400)
  expect([await sendTurn(narrow.key), await sendTurn(narrow.key), await sendTurn(narrow.key)]).toEqual([200, 429, 429])
  const all = { model_not_found: 1, invalid_type: 1, rate_limit_exceeded: 2 }
  expect(await reasons(owner)).toEqual(all)
  expect(await reasons(owner, { key: narrow.id })).toEqual({ rate_limit_exceeded: 2 })
  expect(await reasons(owner, { kind: 'builder' })).toEqual({})
  const { refused_today, today } = await owner.call('GET /overview/usage', { query: { zone: 'UTC' } })
  expect({ refused_today, requests: today.requests }).toEqual({ refused_today: 4, requests: 3 })
})

it('refusals for an empty wallet or unknown key are not shown to other accounts', async () => {
  const poor = await openAccount(server(), { credit: '0' })
  const owner = await signUp(server(), { email: 'poor@example.com', account: poor.id })
  for (const key of [poor.key, `${poor.key}x`]) {
    const response = await send(server(), { key }, { model: 'swift', messages: hello() })
    await response.text()
    expect([401, 402]).toContain(response.status)
  }
  expect(await reasons(owner)).toEqual({ insufficient_balance: 1 })
})

it('refused playground requests are counted too', async () => {
  const account = await openAccount(server())
  const owner = await signUp(server(), { email: 'player@example.com', account: account.id })
  const response = await fetch(`http://127.0.0.1:${server().port}/console/api/playground/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'sec-fetch-site': 'same-origin',
      cookie: owner.cookie ?? '',
      'x-csrf-token': owner.csrf ?? '',
    },
    body: JSON.stringify({ model: 'none such', messages: hello() }),
  })
  expect(response.status).toBe(404)
  expect(await reasons(owner)).toEqual({ model_not_found: 1 })
})
