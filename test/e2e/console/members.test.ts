import { beforeAll, describe, expect, it } from 'vitest'
import type { RouteName } from '../../../src/contract/console-api.ts'
import type { MemberRole } from '../../../src/db/people-tables.ts'
import { type ConsolePerson, openBrowser, PASSWORD, play, type Sent, signUp } from '../../support/console-session.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, hello } from '../../support/send-chat.ts'
import { respond, sendResponse, streamResponse } from '../../support/send-responses.ts'
import { openAccount, rowOf, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ clock: 'still' })

let account: TestAccount
let owner: ConsolePerson
let made = 0

/** A new person of the account. */
const join = async (role: MemberRole): Promise<ConsolePerson> =>
  signUp(server(), { email: `${role}-${++made}@example.com`, role, account: account.id })

const send = (person: ConsolePerson, name: RouteName, sent?: Sent) => {
  server().advance(200)
  return person.send(name, sent)
}
const codeOf = async (answered: ReturnType<typeof send>) => {
  const { error, text } = await answered
  return error?.code ?? text
}

const memberOf = async (person: ConsolePerson) => {
  const { items } = await owner.call('GET /members', { query: { limit: 200 } })
  return items.find(({ email }) => email === person.email)!
}
const roleChange = async (by: ConsolePerson, person: ConsolePerson, role: MemberRole) =>
  codeOf(send(by, 'PATCH /members/:person', { params: { person: (await memberOf(person)).id }, body: { role } }))
const removal = async (by: ConsolePerson, person: ConsolePerson) =>
  codeOf(send(by, 'POST /members/:person/remove', { params: { person: (await memberOf(person)).id } }))

const keyOf = (person: ConsolePerson, name: string) =>
  person.call('POST /keys', { body: { name, kind: 'wallet' } }).then(({ key, secret }) => ({ id: key.id, key: secret }))

beforeAll(async () => {
  account = await openAccount(server())
  owner = await signUp(server(), { email: 'owner@example.com', account: account.id })
})

describe('an invitation', () => {
  it('by an admin gives its role in the account to the person who signs up', async () => {
    const admin = await join('admin')
    const { link } = await admin.call('POST /members/invite', { body: { email: 'new@example.com', role: 'member' } })
    const browser = openBrowser(server(), 'new@example.com')
    const code = new URL(link).searchParams.get('code')!
    await browser.call('POST /sign-up', { body: { code, password: PASSWORD } })
    const { person } = await browser.call('GET /session')
    expect(person).toMatchObject({ role: 'member', account: { id: account.id } })
    expect(await memberOf(browser)).toMatchObject({ role: 'member', state: 'active', keys: 0 })
  })

  it('is refused for an owner by an admin, and for a person who has signed up', async () => {
    const admin = await join('admin')
    const invite = (by: ConsolePerson, email: string, role: string) =>
      codeOf(send(by, 'POST /members/invite', { body: { email, role } }))
    expect(await invite(admin, 'chief@example.com', 'owner')).toBe('role_too_low')
    expect(await invite(admin, owner.email, 'member')).toBe('person_exists')
    expect(await invite(owner, 'chief@example.com', 'operator')).toBe('invalid_arguments')
  })

  it('does not void a link that the operator or another account has made', async () => {
    const email = 'wanted@example.com'
    const { code } = await server().operate('people.invite', { email, role: 'operator' })
    await owner.call('POST /members/invite', { body: { email, role: 'owner' } })
    const browser = openBrowser(server(), email)
    await browser.call('POST /sign-up', { body: { code, password: PASSWORD } })
    expect((await browser.call('GET /session')).person).toMatchObject({ role: 'operator', account: null })
  })

  it('of a member needs an account on the command line as well', async () => {
    const order = { email: 'homeless@example.com', role: 'member' } as const
    expect(await server().attempt('people.invite', order)).toMatchObject({ reason: 'invalid_arguments' })
  })
})

describe('a change of a role', () => {
  it('counts from the next request on', async () => {
    const person = await join('viewer')
    const create = () => codeOf(send(person, 'POST /keys', { body: { name: 'mine', kind: 'wallet' } }))
    expect(await create()).toBe('role_too_low')
    expect(await roleChange(owner, person, 'member')).toContain('"role":"member"')
    expect(await create()).toContain('"secret"')
    expect(await codeOf(send(person, 'GET /wallet'))).toBe('role_too_low')
  })

  it('makes no owner and changes none by an admin', async () => {
    const [admin, member] = [await join('admin'), await join('member')]
    expect(await roleChange(admin, member, 'owner')).toBe('role_too_low')
    expect(await roleChange(admin, owner, 'viewer')).toBe('role_too_low')
    expect(await removal(admin, owner)).toBe('role_too_low')
    expect(await roleChange(admin, member, 'viewer')).toContain('"role":"viewer"')
  })

  it('leaves the last owner', async () => {
    expect(await roleChange(owner, owner, 'admin')).toBe('last_owner')
    expect(await removal(owner, owner)).toBe('last_owner')
    const second = await join('owner')
    const answers = await Promise.all([roleChange(owner, second, 'admin'), roleChange(second, owner, 'admin')])
    const { items } = await server().operate('people.list', { account: account.id })
    const owners = items.filter(({ role }) => role === 'owner')
    expect(owners, answers.join()).toHaveLength(1)
    owner = [owner, second].find(({ email }) => email === owners[0]!.email)!
  })

  it('is done for one of two admins who demote each other at once', async () => {
    const admins = [await join('admin'), await join('admin')] as const
    const answers = await Promise.all([
      roleChange(admins[0], admins[1], 'viewer'),
      roleChange(admins[1], admins[0], 'viewer'),
    ])
    const roles = [(await memberOf(admins[0])).role, (await memberOf(admins[1])).role]
    expect(roles.toSorted(), answers.join()).toEqual(['admin', 'viewer'])
    expect(answers.some((answer) => ['person_changed', 'role_too_low'].includes(answer))).toBe(true)
  })

  it('ends the links that the person has made', async () => {
    const admin = await join('admin')
    const { link } = await admin.call('POST /members/invite', { body: { email: 'friend@example.com', role: 'admin' } })
    await roleChange(owner, admin, 'viewer')
    const body = { code: new URL(link).searchParams.get('code')!, password: PASSWORD }
    expect(await codeOf(send(openBrowser(server()), 'POST /sign-up', { body }))).toBe('invite_not_valid')
  })
})

describe('a removed person', () => {
  it('has no session and no key; their receipts stay', async () => {
    const person = await join('member')
    const key = await keyOf(person, 'theirs')
    const cached = await keyOf(owner, 'of the owner')
    for (const each of [key, cached]) expect((await chat(server(), each)).status).toBe(200)
    const before = (await account.receipts()).length
    expect(await removal(owner, person)).toContain('"state":"disabled"')
    expectProblem(await chat(server(), key), 'invalid_api_key', { message: /revoked/ })
    expect((await chat(server(), cached)).status).toBe(200)
    expect(await codeOf(send(person, 'GET /keys'))).toBe('session_ended')
    expect(await account.receipts()).toHaveLength(before + 1)
    expect(await memberOf(person)).toMatchObject({ state: 'disabled', keys: 0 })
    const { items } = await owner.call('GET /audit', { query: { limit: 1 } })
    expect(items[0]).toMatchObject({ action: 'person_removed', actor: owner.email })
  })

  it('has their running request settled, and the next one refused', async () => {
    const person = await join('member')
    const key = await keyOf(person, 'in use')
    const known = (await account.receipts()).length
    const turn = chat(server(), key, { model: 'calm', messages: hello() })
    await until(async () => (await account.receipts()).length > known)
    expect(await removal(owner, person)).toContain('"state":"disabled"')
    expect((await turn).status).toBe(200)
    expect((await account.receipts()).at(-1)).toMatchObject({ state: 'settled', outcome: 'completed' })
    expectProblem(await chat(server(), key), 'invalid_api_key')
  })

  it('whom an operator disables and enables has keys that stop and go on', async () => {
    const person = await join('member')
    const key = await keyOf(person, 'paused')
    expect((await chat(server(), key)).status).toBe(200)
    await server().operate('people.disable', { person: person.email })
    expectProblem(await chat(server(), key), 'invalid_api_key', { message: /person/ })
    await server().operate('people.enable', { person: person.email })
    expect((await chat(server(), key)).status).toBe(200)
  })
})

describe('a member', () => {
  let member: ConsolePerson
  let own: { id: string; key: string }
  let other: { id: string; key: string }
  let shared: string
  const idOf = async (key: { key: string }) => {
    const answer = await chat(server(), key)
    expect(answer.status).toBe(200)
    return answer.headers.get('x-request-id')!
  }
  let requests: { own: string; other: string }
  const year = { from: '2026-01-01', to: '2027-12-31', zone: 'UTC', step: 'month' } as const

  beforeAll(async () => {
    const colleague = await join('member')
    member = await join('member')
    own = await keyOf(member, 'mine')
    other = await keyOf(colleague, 'not mine')
    shared = (await account.createKey({ name: 'of the account' })).id
    requests = { own: await idOf(own), other: await idOf(other) }
    await idOf(own)
    expectProblem(await chat(server(), other, { model: 'none such' }), 'model_not_found')
  })

  it('lists, finds and counts only their own keys', async () => {
    expect((await member.call('GET /keys')).items.map(({ id }) => id)).toEqual([own.id])
    expect((await member.call('GET /keys', { query: { search: 'mine' } })).items.map(({ id }) => id)).toEqual([own.id])
    expect((await member.call('GET /overview')).keys).toEqual({ active: 1, total: 1 })
    expect(await codeOf(send(member, 'GET /keys', { query: { after: other.id } }))).toBe('key_not_found')
  })

  it.each(['GET /keys/:key', 'PATCH /keys/:key', 'POST /keys/:key/rotate', 'POST /keys/:key/revoke'] as const)(
    'does not reach the keys of others: %s',
    async (name) => {
      const body = { PATCH: { name: 'renamed' }, POST: { grace: '0' } }[name.slice(0, 5).trim()]
      const of = (key: string) => send(member, name, { params: { key }, ...(name.endsWith('revoke') ? {} : { body }) })
      for (const key of [other.id, shared]) expect(await codeOf(of(key))).toBe('key_not_found')
      if (!name.startsWith('POST')) expect((await of(own.id)).status).toBe(200)
      expect((await chat(server(), other)).status).toBe(200)
    },
  )

  it('sees only the requests of their keys', async () => {
    const { items } = await member.call('GET /requests')
    expect(items).toHaveLength(2)
    expect(items.map(({ key }) => key.id)).toEqual([own.id, own.id])
    expect((await member.call('GET /overview')).recent).toEqual(items)
    const show = (request: string) => codeOf(send(member, 'GET /requests/:request', { params: { request } }))
    expect(await show(requests.own)).toContain('"movement":null')
    expect(await show(requests.other)).toBe('request_not_found')
    expect(await codeOf(send(member, 'GET /requests', { query: { key: other.id } }))).toBe('key_not_found')
    expect(await codeOf(send(member, 'GET /requests', { query: { after: requests.other } }))).toBe('invalid_cursor')
    expect(await codeOf(send(member, 'GET /requests', { query: { after: requests.own } }))).not.toBe('invalid_cursor')
  })

  it('sees only the usage of their keys', async () => {
    for (const by of ['model', 'key', 'kind'] as const) {
      const usage = await member.call('GET /usage', { query: { ...year, by } })
      expect([usage.total.requests, usage.table.map(({ used }) => used.requests)]).toEqual([2, [2]])
      expect(usage.series[0]).toMatchObject({ total: { requests: 2 } })
      server().advance(200)
      const csv = await member.call('GET /usage.csv', { query: { ...year, by } })
      expect(csv).not.toContain(other.id)
      expect(csv.trim().split('\n')).toHaveLength(2)
      server().advance(200)
    }
    for (const name of ['GET /usage', 'GET /usage.csv', 'GET /usage/refused'] as const) {
      const query = { ...year, ...(name.endsWith('refused') ? {} : { by: 'key' }), key: other.id }
      expect(await codeOf(send(member, name, { query }))).toBe('key_not_found')
    }
    const lately = await member.call('GET /overview/usage', { query: { zone: 'UTC' } })
    expect([lately.today.requests, lately.refused_today]).toEqual([2, 0])
    expect((await member.call('GET /usage/refused', { query: year })).reasons).toEqual([])
    expect((await owner.call('GET /usage/refused', { query: year })).reasons).toMatchObject([
      { code: 'model_not_found' },
    ])
  })

  it('sees nothing of the wallet, the plan, the audit log and the other people', async () => {
    expect(await member.call('GET /overview')).toMatchObject({ wallet: null, plan: null })
    for (const name of ['GET /wallet', 'GET /wallet/statement.csv', 'GET /plan', 'GET /audit', 'GET /members'] as const)
      expect(await codeOf(send(member, name)), name).toBe('role_too_low')
  })

  it('has a playground key of their own, and an owner the one of the account', async () => {
    const turn = { model: 'swift', messages: hello() }
    for (const person of [member, owner]) expect((await play(person, turn)).status).toBe(200)
    const row = await rowOf(server(), account.id)
    const keys = await server()
      .app.operations.db.selectFrom('keys')
      .leftJoin('people', 'people.row', 'keys.person')
      .select('people.email')
      .where('keys.account', '=', row)
      .where('playground', '=', 1)
      .execute()
    expect(keys.map(({ email }) => email).toSorted()).toEqual([member.email, null].toSorted())
    const { items } = await member.call('GET /requests')
    expect(items[0]!.key.name).toBe('Playground')
    expect(items).toHaveLength(3)
  })
})

it('keys that are made in the console belong to their maker', async () => {
  const admin = await join('admin')
  await keyOf(admin, 'belongs')
  expect(await memberOf(admin)).toMatchObject({ keys: 1 })
})

it('the key of a member reads and continues only responses that their keys have requested', async () => {
  const [member, colleague] = [await join('member'), await join('member')]
  const [own, other] = [await keyOf(member, 'mine'), await keyOf(colleague, 'not mine')]
  const [theirs, mine, of] = [await streamResponse(server(), other), await respond(server(), own), account]
  const get = (key: string, path: string, method = 'GET') =>
    fetch(`${server().baseUrl}/${path}`, { method, headers: { authorization: `Bearer ${key}` } })
  for (const path of [`responses/${theirs.id}`, `responses/${theirs.id}?stream=true`, `requests/${theirs.requestId}`]) {
    expect((await get(own.key, path)).status, path).toBe(404)
    for (const key of [other.key, of.key]) expect((await get(key, path)).status, path).toBe(200)
  }
  expect((await get(own.key, `responses/${theirs.id}`, 'DELETE')).status).toBe(404)
  expect((await get(own.key, `responses/${mine.json.id}`)).status).toBe(200)

  const [said] = theirs.response.output
  const continued = { previous_response_id: theirs.id }
  const referred = { input: [{ type: 'item_reference', id: said.id }, ...hello()] }
  for (const body of [continued, referred]) {
    expect((await sendResponse(server(), own, body)).status).toBe(400)
    for (const key of [other, of]) expect((await respond(server(), key, body)).status).toBe(200)
  }
  expect((await respond(server(), own, { previous_response_id: mine.json.id })).status).toBe(200)
  // As an owner they read all.
  await roleChange(owner, member, 'admin')
  expect((await get(own.key, `responses/${theirs.id}`)).status).toBe(200)
  await roleChange(owner, member, 'member')
  expect((await get(own.key, `responses/${theirs.id}`)).status).toBe(404)
})
