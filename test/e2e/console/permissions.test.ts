import { beforeAll, describe, expect, it } from 'vitest'
import { CONSOLE_API, type RouteName } from '../../../src/contract/console-api.ts'
import type { Requester } from '../../../src/contract/values.ts'
import { type ConsolePerson, openBrowser, PASSWORD, play, signUp } from '../../support/console-session.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { chat } from '../../support/send-chat.ts'
import { storePayment } from '../../support/stored-rows.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'
import { ROUTE_NAMES, sampleOf, type Things } from './routes-with-samples.ts'

/** One person for each kind of access to the console, on both databases. `test/e2e/security` has every kind of caller, on every surface. */
type Who =
  | 'signed out'
  | 'forged'
  | 'with a key'
  | 'disabled'
  | 'owner'
  | 'admin'
  | 'member'
  | 'viewer'
  | 'stranger'
  | 'operator'
  | 'operator without account'

const OWNER: readonly Requester[] = ['anyone', 'signed-in', 'any-role', 'viewer', 'member', 'admin', 'owner']

/** What each of them is, as far as routes are concerned. */
const RIGHTS: Readonly<Record<Who, readonly Requester[]>> = {
  'signed out': ['anyone'],
  forged: ['anyone'],
  'with a key': ['anyone'],
  disabled: ['anyone'],
  owner: OWNER,
  admin: ['anyone', 'signed-in', 'any-role', 'viewer', 'member', 'admin'],
  member: ['anyone', 'signed-in', 'any-role', 'member'],
  viewer: ['anyone', 'signed-in', 'any-role', 'viewer'],
  stranger: OWNER,
  operator: [...OWNER, 'operator'],
  'operator without account': ['anyone', 'signed-in', 'operator'],
}

const REFUSALS = new Set([
  'session_ended',
  'operators_only',
  'no_account',
  'role_too_low',
  'other_site',
  'https_needed',
  'confirm_password',
])

const server = useServer({ config: PLANS_CONFIG })
const people = new Map<Who, ConsolePerson>()
let account: TestAccount
let things: Things

beforeAll(async () => {
  const { operate } = server()
  account = await openAccount(server())
  const { id: other } = await openAccount(server())
  const { id: third } = await operate('accounts.create', { email: 'third@example.com' })
  await operate('plans.assign', { account: account.id, plan: 'pro' })
  const builder = await account.createKey({ kind: 'builder' })
  expect(
    (
      await chat(
        server(),
        { key: builder.key },
        { model: 'paid', max_tokens: 5 },
        { headers: { 'x-millrace-run': 'matrix' } },
      )
    ).status,
  ).toBe(200)

  people.set('owner', await signUp(server(), { email: 'owner@example.com', account: account.id }))
  for (const role of ['admin', 'member', 'viewer'] as const)
    people.set(role, await signUp(server(), { email: `${role}@example.com`, role, account: account.id }))
  people.set('stranger', await signUp(server(), { email: 'stranger@example.com', account: other }))
  people.set('operator', await signUp(server(), { email: 'operator@example.com', role: 'operator', account: third }))
  people.set('operator without account', await signUp(server(), { email: 'chief@example.com', role: 'operator' }))
  const disabled = await signUp(server(), { email: 'disabled@example.com', account: account.id })
  await operate('people.disable', { person: 'disabled@example.com' })
  people.set('disabled', disabled)
  people.set('signed out', openBrowser(server()))
  people.set('forged', forged())
  people.set('with a key', withKey(account.key))
  things = await thingsOf(account, people.get('owner')!)
})

const forged = (): ConsolePerson => {
  const person = openBrowser(server())
  person.cookie = `millrace_session=mr_session_${'A'.repeat(43)}`
  person.csrf = 'forged'
  return person
}

/** Keys are for programs: none of them opens the console, in whatever place it is sent. */
const withKey = (key: string): ConsolePerson => {
  const person = openBrowser(server())
  person.cookie = `millrace_session=${key}`
  return {
    ...person,
    send: (name, sent) => person.send(name, { ...sent, headers: { authorization: `Bearer ${key}` } }),
  }
}

async function thingsOf({ id }: TestAccount, owner: ConsolePerson): Promise<Things> {
  const { items: keys } = await owner.call('GET /keys')
  const { items: requests } = await owner.call('GET /requests')
  const { windows } = await owner.call('GET /plan')
  const { items: sessions } = await owner.call('GET /sessions')
  const { person } = await owner.call('GET /session')
  const team = await owner.call('POST /teams', { body: { name: 'Research', caps: { day: '5.00' } } })
  const made = await people
    .get('operator')!
    .call('POST /operate/codes', { body: { amount: '1.00', count: 1, note: '' } })
  return {
    account: id,
    key: keys.at(-1)!.id,
    request: requests[0]!.id,
    window: windows.find(({ opened }) => opened)!.id!,
    session: sessions[0]!.id,
    person: person!.id,
    code: made.items[0]!.code.id,
    ...(await storePayment(server(), id)),
    ...(await webhookOf(owner)),
    team: team.id,
    run: 'matrix',
    conversation: (await owner.call('POST /conversations', { body: { title: 'Mills', content: '{}' } })).id,
  }
}

async function webhookOf(owner: ConsolePerson) {
  const { webhook } = await owner.call('POST /webhooks', {
    body: { url: 'https://hooks.invalid/', events: ['webhook.off'] },
  })
  const delivery = await owner.call('POST /webhooks/:webhook/test', { params: { webhook: webhook.id } })
  const operator = people.get('operator')!
  const { webhook: other } = await operator.call('POST /operate/webhooks', {
    body: { url: 'https://hooks.invalid/', events: ['webhook.off'] },
  })
  const sent = await operator.call('POST /operate/webhooks/:webhook/test', { params: { webhook: other.id } })
  return {
    ...{ webhook: webhook.id, delivery: delivery.id },
    ...{ operatorWebhook: other.id, operatorDelivery: sent.id },
  }
}

/** What ends a session or a person would take the matrix with it: whether it may be asked is seen by a wrong id. */
const harmless = (name: RouteName): Things =>
  /disable|DELETE|revoke|status|PATCH .members|remove|raise/.test(name)
    ? {
        ...things,
        person: 'usr_none',
        session: 'ses_none',
        webhook: 'whk_none',
        operatorWebhook: 'whk_none',
        key: 'key_none',
        account: 'acct_none',
        team: 'team_none',
        conversation: 'conv_none',
        run: 'none',
      }
    : things

const receivedBy = ROUTE_NAMES.flatMap((name) => (Object.keys(RIGHTS) as Who[]).map((who) => [who, name] as const))

describe('every console query', () => {
  const refusals = new Set<string>()
  const answered = new Set<RouteName>()

  it.each(receivedBy)('by %s: %s', async (who, name) => {
    // All of them come from one address, which asks no more than so much in a second.
    server().advance(200)
    const reported = await people.get(who)!.send(name, sampleOf(name, harmless(name)))
    const may = RIGHTS[who].includes(CONSOLE_API[name].who)
    expect(reported.status).toBeLessThan(500)
    if (reported.status >= 400)
      expect(reported.error).toMatchObject({ request_id: reported.headers.get('x-request-id') })
    if (may) expect(REFUSALS.has(reported.error?.code ?? 'none'), reported.text).toBe(false)
    else expect(reported.error?.code, reported.text).toBe(refusalFor(who, CONSOLE_API[name].who))
    if (reported.status === 200) answered.add(name)
    if (!may) refusals.add(reported.error!.code)
    if (reported.status === 200 && !/\.(csv|yaml)$/.test(name)) CONSOLE_API[name].answer.parse(reported.json)
    if (may && name === 'DELETE /session') await signInAgain(people.get(who)!)
  })

  it('is in the matrix, and every refusal was seen', () => {
    expect(ROUTE_NAMES.toSorted()).toEqual(Object.keys(CONSOLE_API).toSorted())
    expect([...refusals].toSorted()).toEqual(['no_account', 'operators_only', 'role_too_low', 'session_ended'])
    const unanswered = ROUTE_NAMES.filter((name) => name.startsWith('GET ') && !answered.has(name))
    expect(unanswered, 'queries that were answered to none of them').toEqual([])
  })
})

describe('the playground', () => {
  it.each(Object.keys(RIGHTS) as Who[])('used by %s follows the permissions of a member', async (who) => {
    server().advance(200)
    const reported = await play(people.get(who)!, {
      model: 'paid',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'hi' }],
    })
    // A person with the permission reaches the wallet, which is empty for the stranger and the operator.
    if (RIGHTS[who].includes('member')) expect(REFUSALS.has(reported.error?.code ?? 'none'), reported.text).toBe(false)
    else expect(reported.error?.code, reported.text).toBe(refusalFor(who, 'member'))
  })

  it('refuses plain HTTP from another machine and other origins', async () => {
    const owner = people.get('owner')!
    const turn = { model: 'paid', messages: [{ role: 'user', content: 'hi' }] }
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { 'x-csrf-token': 'x' },
    ]) {
      expect((await play(owner, turn, headers)).error?.code).toBe('other_site')
    }
    const socket = await openRawSocket(server())
    const body = JSON.stringify(turn)
    const head = [
      'POST /console/api/playground/chat/completions HTTP/1.1',
      'host: 192.0.2.1',
      'origin: http://192.0.2.1',
    ]
    const more = [`cookie: ${owner.cookie}`, `x-csrf-token: ${owner.csrf}`, `content-length: ${body.length}`]
    socket.write(`${[...head, 'content-type: application/json', ...more].join('\r\n')}\r\n\r\n${body}`)
    expect((await socket.answer()).status).toBe(403)
    expect(socket.received).toContain('https_needed')
    socket.destroy()
  })
})

const signInAgain = (person: ConsolePerson) =>
  person.call('POST /session', { body: { email: person.email, password: PASSWORD } })

function refusalFor(who: Who, needed: Requester): string {
  if (!RIGHTS[who].includes('signed-in')) return 'session_ended'
  if (needed === 'operator') return 'operators_only'
  return RIGHTS[who].includes('any-role') ? 'role_too_low' : 'no_account'
}

const NAMED_BY_ID = ROUTE_NAMES.filter((name) => name.includes(':') && CONSOLE_API[name].who !== 'operator')

describe('what belongs to another account', () => {
  it.each(NAMED_BY_ID)('looks the same as something that does not exist: %s', async (name) => {
    server().advance(200)
    const stranger = people.get('stranger')!
    const nothing = Object.fromEntries(Object.entries(things).map(([what, id]) => [what, `${id.slice(0, -4)}0000`]))
    const [theirs, none] = await Promise.all([
      stranger.send(name, sampleOf(name, things)),
      stranger.send(name, sampleOf(name, nothing as unknown as Things)),
    ])
    expect(theirs.status).toBe(404)
    const words = ({ error }: typeof theirs, { ...ids }: Things) =>
      Object.values(ids).reduce((text, id) => text.replaceAll(id, '…'), `${error?.code} ${error?.message}`)
    expect(words(theirs, things)).toBe(words(none, nothing as unknown as Things))
  })

  it.each(['GET /requests', 'GET /usage', 'GET /usage.csv'] as const)(
    'cannot be used as a filter: %s',
    async (name) => {
      const stranger = people.get('stranger')!
      const sendTurn = async (key: string) => {
        server().advance(200)
        const { status, error } = await stranger.send(name, { query: { ...sampleOf(name, things).query, key } })
        return [status, error?.code, error?.message.replace(key, '…')]
      }
      const none = await sendTurn(`${things.key.slice(0, -4)}0000`)
      expect(none.slice(0, 2)).toEqual([404, 'key_not_found'])
      expect(await sendTurn(things.key)).toEqual(none)
    },
  )

  it('appears in no list, export or sum of another account', async () => {
    const stranger = people.get('stranger')!
    const secrets = [things.key, things.request, things.account, account.email, 'owner@example.com']
    for (const name of ROUTE_NAMES.filter((route) => route.startsWith('GET') && !route.includes(':'))) {
      if (CONSOLE_API[name].who === 'operator') continue
      server().advance(200)
      const { text } = await stranger.send(name, sampleOf(name, things))
      for (const secret of secrets) expect(text, `${name} shows ${secret}`).not.toContain(secret)
    }
  })
})
