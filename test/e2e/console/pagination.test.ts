import { beforeAll, describe, expect, it } from 'vitest'
import { CONSOLE_API, type RouteName } from '../../../src/contract/console-api.ts'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { chat } from '../../support/send-chat.ts'
import { storeNotices, storeTopUps } from '../../support/stored-rows.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'
import { ROUTE_NAMES, sampleOf, type Things } from './routes-with-samples.ts'

const server = useServer({ config: PLANS_CONFIG, clock: 'still' })
const ROWS = 3
const LIMIT_MAX = 200

/** Whatever takes a limit. */
const LISTS = ROUTE_NAMES.filter((name) => CONSOLE_API[name].query.safeParse({ limit: '1' }).success)

let person: ConsolePerson
let window: string
let webhook: string
let operatorWebhook: string
let account: TestAccount

/** Three of everything that there is a list of. */
beforeAll(async () => {
  account = await openAccount(server())
  person = await signUp(server(), { email: 'chief@walk.example', role: 'operator', account: account.id })
  await server().operate('plans.assign', { account: account.id, plan: 'pro' })
  const builder = await account.createKey({ kind: 'builder' })
  const sendTurn = { amount: '20.00', note: 'for the walk' }
  for (let count = 0; count < ROWS; count++) {
    await account.createKey()
    const headers = { 'x-millrace-run': `task-${count}` }
    expect((await chat(server(), account, {}, { headers })).status).toBe(200)
    expect((await chat(server(), { key: builder.key }, { model: 'paid', max_tokens: 5 })).status).toBe(200)
    const { id } = await openAccount(server())
    await signUp(server(), { email: `viewer-${count}@walk.example`, role: 'viewer', account: account.id })
    const other = await signUp(server(), { email: `owner-${count}@walk.example`, account: id })
    await other.call('POST /wallet/ask', { body: sendTurn })
  }
  await person.call('POST /operate/codes', { body: { amount: '5.00', count: ROWS, note: '' } })
  const { windows } = await person.call('GET /plan')
  window = windows.find(({ opened }) => opened)!.id!
  await storeTopUps(server(), account.id, ROWS)
  await storeNotices(server(), ROWS)
  const hook = { url: 'https://hooks.invalid/', events: ['webhook.off' as const] }
  webhook = (await person.call('POST /webhooks', { body: hook })).webhook.id
  operatorWebhook = (await person.call('POST /operate/webhooks', { body: hook })).webhook.id
  for (let count = 0; count < ROWS; count++) {
    await person.call('POST /teams', { body: { name: `Team ${count}` } })
    await person.call('POST /webhooks/:webhook/test', { params: { webhook } })
    await person.call('POST /operate/webhooks/:webhook/test', { params: { webhook: operatorWebhook } })
  }
})

const turn = async (name: RouteName, query: object) => {
  const { params = {}, query: usual = {} } = sampleOf(name, {
    window,
    webhook,
    operatorWebhook,
    account: account.id,
  } as Things)
  server().advance(200)
  return person.send(name, { params, query: { ...usual, ...query } })
}

const pageOf = async (name: RouteName, query: object) =>
  (await turn(name, query)).json as { items: object[]; next: string | null }

/** What may come between two pages: when a key was last used is written down a moment later, and a delivery is attempted. */
const UNSETTLED = ['last_used_at', 'attempts', 'error', 'next_at']
const settled = (item: object) => Object.entries(item).filter(([name]) => !UNSETTLED.includes(name))

describe.each(LISTS)('%s', (name) => {
  it('pages one row at a time give the same list, without an empty last page', async () => {
    const whole = await pageOf(name, { limit: LIMIT_MAX })
    expect(whole.items.length).toBeGreaterThanOrEqual(ROWS)
    expect(whole.next).toBeNull()
    const turned: object[] = []
    for (let after: string | null | undefined; after !== null; ) {
      const { items, next } = await pageOf(name, { limit: 1, ...(after === undefined ? {} : { after }) })
      expect(items).toHaveLength(1)
      turned.push(...items)
      after = next
    }
    expect(turned.map(settled)).toEqual(whole.items.map(settled))
  })

  it.each(['0', '-1', '1.5', 'all', String(LIMIT_MAX + 1), '1e9'])('refuses a page of %s rows', async (limit) => {
    const { status, error } = await turn(name, { limit })
    expect([status, error]).toMatchObject([400, { code: 'invalid_arguments', param: 'limit' }])
  })
})

it('every list with a limit is tested here', () => {
  expect(LISTS).toEqual(
    expect.arrayContaining(['GET /keys', 'GET /requests', 'GET /plan/windows/:window', 'GET /audit']),
  )
})

it.each(['codes.list', 'wallet.wishes'] as const)('the CLI has the same bound: %s', async (name) => {
  expect(await server().attempt(name, { limit: LIMIT_MAX })).toMatchObject({ kind: 'done' })
  for (const limit of [0, LIMIT_MAX + 1, 1.5]) {
    expect(await server().attempt(name, { limit })).toMatchObject({ kind: 'refused', reason: 'invalid_arguments' })
  }
})
