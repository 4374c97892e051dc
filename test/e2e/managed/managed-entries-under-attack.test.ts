import { beforeEach, describe, expect, it } from 'vitest'
import { createAdminKey, sendToAdmin } from '../../support/admin-api.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const DAY = 86_400_000
const UPSTREAM = { id: 'sandbox', wire: 'demo' }

interface Listed {
  readonly name: string
  readonly entry: Readonly<Record<string, unknown>> | null
  readonly prices: readonly { readonly from: string }[]
}

describe('managed entries of careless and hostile operators', () => {
  const server = useServer({ config: PLANS_CONFIG })
  let names = 0
  let name: string
  let plan: string
  let ask: (route: Parameters<typeof sendToAdmin>[1], sent?: object) => ReturnType<typeof sendToAdmin>

  const model = (more: object = {}) => ({
    ...{ id: name, context_tokens: 128_000, max_output_tokens: 1000, price: { input: '0', output: '500' } },
    lanes: [{ upstream: 'sandbox', model: 'demo-fast' }],
    ...more,
  })
  const change = (body: object | string) => ask('POST /managed', { body })
  const listed = async (): Promise<Listed> =>
    ((await ask('GET /managed')).json.items as Listed[]).find((item) => item.name === name)!
  const price = (output: string, from?: string) => ({ model: name, price: { input: '0', output }, from })
  const inDays = (days: number) => new Date(server().app.operations.clock.now() + days * DAY).toISOString().slice(0, 10)

  beforeEach(async () => {
    names += 1
    name = `sandbox-${names}`
    plan = `plan-${names}`
    const { secret: key } = await createAdminKey(server(), ['admin'])
    ask = (route, sent = {}) => sendToAdmin(server(), route, { key, ...sent })
    expect((await change({ upstreams: [UPSTREAM], models: [model()] })).status).toBe(200)
  })

  it('are changed by one of two operators who save at the same moment', async () => {
    for (let round = 0; round < 5; round++) {
      // As the console sends it. Without it, the later one of two that do not meet wins.
      const { revision } = (await ask('GET /managed')).json
      const answers = await Promise.all([
        change({ models: [model({ max_output_tokens: 10 + round })], revision }),
        change({ models: [model({ max_output_tokens: 500 + round })], revision }),
      ])
      expect(answers.map(({ status, error }) => error?.code ?? status).toSorted()).toEqual([200, 'managed_outdated'])
      const saved = answers.findIndex(({ status }) => status === 200)
      expect((await listed()).entry).toMatchObject({ max_output_tokens: [10, 500][saved]! + round })
    }
  })

  it('keep a price that a date has brought after a form was opened', async () => {
    const account = await openAccount(server())
    await change({ prices: [price('600', inDays(1))] })
    const { price: _, ...form } = (await listed()).entry as { readonly price: object }
    server().advance(DAY)
    expect((await change({ models: [{ ...form, max_output_tokens: 900 }] })).status).toBe(200)
    expect((await listed()).entry).toMatchObject({ max_output_tokens: 900, price: { input: '0', output: '600' } })
    expect((await chat(server(), account, { model: name })).status).toBe(200)
    const [receipt] = await account.receipts()
    expect(receipt?.charge_nano).toBe(BigInt(receipt?.output ?? 0) * 600_000n)
    await change({ models: [model({ price: null })] })
    expect((await listed()).entry).not.toHaveProperty('price')
    expect((await chat(server(), account, { model: name })).status).not.toBe(200)
  })

  it('do not lose a plan that accounts are on', async () => {
    const { id } = await openAccount(server())
    await change({ plans: [{ id: plan, models: [name], windows: [{ every: '5h', allowance: '1.00' }] }] })
    await server().operate('plans.assign', { account: id, plan })
    const retire = { retire: [{ kind: 'plan', name: plan }] }
    const { status, error } = await change(retire)
    expect([status, error?.code]).toEqual([409, 'plan_in_use'])
    expect(error?.message).toMatch(/^1 account is on the plan/)
    await server().operate('plans.end', { account: id })
    expect((await change(retire)).status).toBe(200)
  })

  it('leave no price of a retired model to the next model of its name', async () => {
    const both = await change({
      retire: [{ kind: 'model', name }],
      prices: [price('1', inDays(3))],
    })
    expect([both.status, both.error?.code]).toEqual([404, 'managed_not_found'])
    await change({ prices: [price('1', inDays(3))] })
    await change({ retire: [{ kind: 'model', name }] })
    await change({ models: [model()] })
    expect((await listed()).prices).toEqual([])
  })

  it('have 50 announced prices of a model at most, in one change or in many', async () => {
    const days = (from: number, count: number) =>
      Array.from({ length: count }, (_, day) => price('1', inDays(from + day)))
    expect((await change({ prices: days(1, 51) })).error?.code).toBe('managed_too_many')
    expect((await change({ prices: days(1, 50) })).status).toBe(200)
    expect((await change({ prices: days(51, 1) })).error?.code).toBe('managed_too_many')
    // Another price for one of these dates is not one more.
    expect((await change({ prices: [price('2', inDays(7))] })).status).toBe(200)
    expect((await listed()).prices).toHaveLength(50)
  })

  const LONG = 'x'.repeat(10_000)
  it.each([
    ['a model', { models: [{ id: LONG }] }, /an id of 1 to 200 characters/],
    ['a provider', { upstreams: [{ id: LONG, wire: 'demo' }] }, /an id of 1 to 200 characters/],
    ['a plan', { plans: [{ id: 'y'.repeat(150), models: ['*'], windows: [] }] }, /100/],
    ['a lane', { models: [{ id: 'm', lanes: [{ upstream: LONG, model: LONG }] }] }, /managed model m/],
    ['a pattern of a plan', { plans: [{ id: 'p', models: [LONG], windows: [] }] }, /managed plan p/],
    ['what is retired', { retire: [{ kind: 'model', name: LONG }] }, /200/],
    ['a price', { prices: [{ model: LONG, price: null }] }, /200/],
    ['the key of a price', { models: [{ id: 'm', price: { [LONG]: '1' } }] }, /managed model m/],
  ])('are refused a name of 10,000 characters for %s, in a message that can be read', async (_, body, message) => {
    const { status, error } = await change(body)
    expect(status).toBe(400)
    expect(error?.message).toMatch(message)
    expect(error?.message.length).toBeLessThan(2_000)
  })
})
