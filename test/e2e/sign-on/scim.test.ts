import { beforeAll, describe, expect, it } from 'vitest'
import { ADMIN_SCOPES } from '../../../src/contract/admin-keys.ts'
import { createAdminKey, sendToAdmin } from '../../support/admin-api.ts'
import { signUp } from '../../support/console-session.ts'
import { sendToScim } from '../../support/scim.ts'
import { chat, hello } from '../../support/send-chat.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const CONFIG = `${TEST_CONFIG}
sign_in:
  scim:
    roles:
      - { group: Owners, account: team@example.com, role: owner }
      - { group: Viewers, account: team@example.com, role: viewer }
      - { group: Elsewhere, account: other@example.com, role: owner }
      - { group: Chiefs, account: whole@example.com, role: owner }
      - { group: Readers, account: whole@example.com, role: viewer }
`

const server = useServer({ config: CONFIG })

const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'

interface Directory {
  readonly account: string
  readonly key: string
  send(request: string, body?: unknown): ReturnType<typeof sendToScim>
}

async function openDirectory(email: string): Promise<Directory> {
  const { id: account } = await server().operate('accounts.create', { email })
  const order = { name: 'directory', scopes: ['scim'] as ['scim'], account }
  const { secret: key } = await server().operate('admin-keys.create', order)
  return { account, key, send: (request, body) => sendToScim(server(), request, { key, body }) }
}

let team: Directory
let other: Directory
let made = 0

beforeAll(async () => {
  team = await openDirectory('team@example.com')
  other = await openDirectory('other@example.com')
  await signUp(server(), { email: 'chief@example.com', account: team.account })
})

const newEmail = () => `user-${++made}@example.com`
async function createUser(directory = team, more: object = {}): Promise<{ id: string; userName: string }> {
  const answer = await directory.send('POST /Users', { schemas: [USER], userName: newEmail(), ...more })
  expect(answer.status, answer.text).toBe(201)
  return answer.json as never
}
const filtered = (kind: string, filter: string) => `GET /${kind}?filter=${encodeURIComponent(filter)}`
const patch = (...Operations: object[]) => ({ schemas: [PATCH], Operations })
const personOf = async (id: string) => {
  const { items } = await server().operate('people.list', { account: team.account, limit: 200 })
  return items.find((person) => person.id === id)
}
const auditOf = (target: string) =>
  server()
    .app.operations.db.selectFrom('audit')
    .select(['action', 'actor', 'detail'])
    .where('target', '=', target)
    .execute()

describe('a user', () => {
  it('lives as Okta does it: looked for, created, read, deactivated by PUT, activated again', async () => {
    const userName = newEmail()
    const sought = await team.send(`${filtered('Users', `userName eq "${userName}"`)}&startIndex=1&count=100`)
    expect(sought.json).toMatchObject({ totalResults: 0, startIndex: 1, Resources: [] })
    const name = { givenName: 'Ann', familyName: 'Miller' }
    const body = {
      ...{ schemas: [USER], userName, name, externalId: '00u1', locale: 'en-US', groups: [], active: true },
      ...{ emails: [{ primary: true, value: userName, type: 'work' }], displayName: 'Ann Miller' },
    }
    const created = await team.send('POST /Users', body)
    expect(created.status).toBe(201)
    expect(created.json).toMatchObject({ userName, name, externalId: '00u1', active: true, displayName: 'Ann Miller' })
    const id = String(created.json.id)
    expect(created.headers.get('location')).toBe(`http://127.0.0.1:${server().port}/scim/v2/Users/${id}`)
    expect((await team.send(`GET /Users/${id}`)).json).toEqual(created.json)
    expect((await team.send('POST /Users', body)).json).toMatchObject({ status: '409', scimType: 'uniqueness' })
    const off = await team.send(`PUT /Users/${id}`, { ...body, id, active: false })
    expect(off.json).toMatchObject({ active: false, displayName: 'Ann Miller' })
    const on = await team.send(`PATCH /Users/${id}`, patch({ op: 'replace', value: { active: true } }))
    expect(on.json).toMatchObject({ active: true })
    const actions = (await auditOf(id)).map(({ action }) => action)
    expect(actions).toEqual(['person_provisioned', 'person_removed', 'person_enabled'])
  })

  it('lives as Microsoft Entra does it: Replace with paths, booleans as text, a removal and a DELETE', async () => {
    const { id, userName } = await createUser(team, { externalId: 'entra-1', active: true })
    const changed = await team.send(
      `PATCH /Users/${id}`,
      patch(
        { op: 'Replace', path: 'displayName', value: 'Ben' },
        { op: 'Add', path: 'name.givenName', value: 'Ben' },
        { op: 'Replace', path: 'emails[type eq "work"].value', value: userName },
        { op: 'Add', path: `${USER}:name.familyName`, value: 'Baker' },
        { op: 'Add', value: { 'name.givenName': 'Benjamin', 'urn:ietf:params:scim:schemas:extension:x:User:id': 1 } },
      ),
    )
    expect(changed.json).toMatchObject({ displayName: 'Ben', name: { givenName: 'Benjamin', familyName: 'Baker' } })
    const off = await team.send(`PATCH /Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))
    expect([off.status, off.json.active]).toEqual([200, false])
    const less = await team.send(`PATCH /Users/${id}`, patch({ op: 'Remove', path: 'displayName' }))
    expect(less.json.displayName).toBeUndefined()
    expect((await team.send(filtered('Users', 'externalId eq "entra-1"'))).json).toMatchObject({ totalResults: 1 })
    expect((await team.send(`DELETE /Users/${id}`)).status).toBe(204)
    expect((await team.send(`DELETE /Users/${id}`)).status).toBe(404)
    expect((await team.send(`GET /Users/${id}`)).status).toBe(404)
    expect((await team.send(filtered('Users', `userName eq "${userName}"`))).json).toMatchObject({ totalResults: 0 })
    const again = await team.send('POST /Users', { schemas: [USER], userName })
    expect([again.status, again.json.id, again.json.active]).toEqual([201, id, true])
  })

  it('that is deactivated loses sessions and keys and keeps receipts; said twice it is written once', async () => {
    const member = await signUp(server(), { email: newEmail(), role: 'member', account: team.account })
    await server().operate('wallet.credit', { account: team.account, amount: '5.00', reason: 'test', ref: `r-${made}` })
    const { secret } = await member.call('POST /keys', { body: { name: 'laptop', kind: 'wallet' } })
    const turn = () => chat(server(), { key: secret }, { model: 'swift', messages: hello('hi') })
    expect((await turn()).status).toBe(200)
    const found = await team.send(filtered('Users', `USERNAME EQ "${member.email.toUpperCase()}"`))
    const { id } = (found.json.Resources as { id: string }[])[0]!
    for (const _ of [1, 2]) {
      const off = await team.send(`PATCH /Users/${id}`, patch({ op: 'replace', path: 'active', value: false }))
      expect(off.json.active).toBe(false)
    }
    expect((await turn()).status).toBe(401)
    expect((await member.call('GET /session')).person).toBeNull()
    expect((await auditOf(id)).filter(({ action }) => action === 'person_removed').length).toBe(1)
    await team.send(`PATCH /Users/${id}`, patch({ op: 'replace', path: 'active', value: true }))
    expect((await turn()).status).toBe(401)
    const { items } = await server().operate('keys.list', { account: team.account, limit: 50 })
    expect(items.find(({ name }) => name === 'laptop')?.state).toBe('revoked')
    const receipts = await server()
      .app.operations.db.selectFrom('receipts')
      .selectAll()
      .where('closed_at', 'is not', null)
      .execute()
    expect(receipts.length).toBeGreaterThan(0)
  })

  it('that an operator or an admin has disabled is not enabled by the directory', async () => {
    const owner = await signUp(server(), { email: newEmail(), account: team.account })
    const [ann, ben] = [await createUser(), await createUser()]
    const set = (id: string, active: boolean) =>
      team.send(`PATCH /Users/${id}`, patch({ op: 'replace', value: { active } }))
    // What the directory has disabled before does not count.
    for (const active of [false, true]) expect((await set(ann.id, active)).json.active).toBe(active)
    await server().operate('people.disable', { person: ann.userName })
    await owner.call('POST /members/:person/remove', { params: { person: ben.id } })
    for (const { id, userName } of [ann, ben]) {
      const refused = await set(id, true)
      expect([refused.status, refused.json.detail]).toEqual([
        409,
        expect.stringContaining('by an operator or an admin'),
      ])
      expect((await team.send(`PUT /Users/${id}`, { userName, displayName: 'Kept' })).status).toBe(200)
      expect((await team.send(`DELETE /Users/${id}`)).status).toBe(204)
      expect((await team.send('POST /Users', { userName })).status).toBe(409)
      expect((await personOf(id))?.disabled_at).not.toBeNull()
    }
    await server().operate('people.enable', { person: ann.userName })
    expect((await team.send('POST /Users', { userName: ann.userName })).json).toMatchObject({
      id: ann.id,
      active: true,
    })
    const idle = await createUser(team, { active: false })
    expect((await set(idle.id, true)).json.active).toBe(true)
  })

  it('has no email that belongs to another account, and no answer tells how it does', async () => {
    const { account } = await openDirectory('third@example.com')
    const [owner, invited, member, root] = [newEmail(), newEmail(), newEmail(), newEmail()]
    await server().operate('accounts.create', { email: owner })
    await server().operate('people.invite', { email: invited, account: account, role: 'member' })
    await signUp(server(), { email: member, account: account, role: 'member' })
    await server().operate('people.invite', { email: root, role: 'operator' })
    const own = (await createUser()).userName
    const details = []
    for (const userName of [owner, owner.toUpperCase(), invited, member, root, own]) {
      const { json } = await team.send('POST /Users', { userName })
      expect(json, userName).toMatchObject({ status: '409', scimType: 'uniqueness' })
      details.push(String(json.detail).replace(userName.toLowerCase(), 'THE EMAIL'))
    }
    expect(new Set(details).size).toBe(1)
    await signUp(server(), { email: owner, account: account })
    // What belongs to the account of the directory is its own, and an invitation ends.
    await server().operate('people.invite', { email: 'team@example.com', account: team.account, role: 'owner' })
    expect((await team.send('POST /Users', { userName: 'team@example.com' })).status).toBe(201)
    server().advance(7 * 86_400_000)
    expect((await team.send('POST /Users', { userName: invited })).status).toBe(201)
  })

  it('is listed in pages', async () => {
    for (let count = 0; count < 3; count++) await createUser(other)
    const page = await other.send('GET /Users?startIndex=2&count=1')
    expect(page.json).toMatchObject({ totalResults: 3, startIndex: 2, itemsPerPage: 1 })
    expect((await other.send('GET /Users?count=0')).json).toMatchObject({ totalResults: 3, Resources: [] })
    expect((await other.send('GET /Users?startIndex=-5&count=900')).json).toMatchObject({
      startIndex: 1,
      itemsPerPage: 3,
    })
  })

  it('of another account does not exist, and an operator is none', async () => {
    const { id } = await createUser(other)
    for (const request of [`GET /Users/${id}`, `DELETE /Users/${id}`])
      expect((await team.send(request)).status, request).toBe(404)
    expect((await team.send(`PUT /Users/${id}`, { userName: 'x@example.com' })).status).toBe(404)
    expect((await team.send(`PATCH /Users/${id}`, patch({ op: 'replace', value: { active: false } }))).status).toBe(404)
    const root = await signUp(server(), { email: newEmail(), role: 'operator', account: team.account })
    expect((await team.send(filtered('Users', `userName eq "${root.email}"`))).json).toMatchObject({ totalResults: 0 })
    const { id: group } = (await team.send('POST /Groups', { displayName: `Of ${id}` })).json as { id: string }
    const joined = await team.send(
      `PATCH /Groups/${group}`,
      patch({ op: 'add', path: 'members', value: [{ value: id }] }),
    )
    expect(joined.json).toMatchObject({ status: '400', scimType: 'invalidValue' })
    expect((await other.send(`GET /Groups/${group}`)).status).toBe(404)
    expect((await other.send(`DELETE /Groups/${group}`)).status).toBe(404)
  })
})

describe('a group', () => {
  const membersOf = ({ json }: { json: Record<string, unknown> }) =>
    (json.members as { value: string }[]).map(({ value }) => value)

  it('is a team of its name, is renamed with it, and archives it in the end', async () => {
    const [ann, ben] = [await createUser(), await createUser()]
    const created = await team.send('POST /Groups', {
      ...{ schemas: [GROUP], displayName: 'Research', externalId: 'g-1', members: [{ value: ann.id }] },
    })
    expect([created.status, membersOf(created)]).toEqual([201, [ann.id]])
    const id = String(created.json.id)
    const teams = async () => (await server().operate('teams.list', { account: team.account, limit: 50 })).items
    expect((await teams()).map(({ name }) => name)).toContain('Research')
    const entra = (op: string, ...ids: string[]) =>
      team.send(`PATCH /Groups/${id}`, patch({ op, path: 'members', value: ids.map((value) => ({ value })) }))
    expect(membersOf(await entra('Add', ben.id, ann.id))).toEqual([ann.id, ben.id])
    expect(membersOf(await entra('Remove', ann.id))).toEqual([ben.id])
    expect((await team.send(`GET /Users/${ben.id}`)).json.groups).toMatchObject([{ value: id, display: 'Research' }])
    const okta = await team.send(
      `PATCH /Groups/${id}`,
      patch(
        { op: 'remove', path: `members[value eq "${ben.id}"]` },
        { op: 'add', path: 'members', value: [{ value: ann.id, display: ann.userName }] },
        { op: 'replace', value: { id, displayName: 'Research 2' } },
      ),
    )
    expect([okta.json.displayName, membersOf(okta)]).toEqual(['Research 2', [ann.id]])
    expect((await teams()).map(({ name }) => name)).toContain('Research 2')
    const sought = await team.send(`${filtered('Groups', 'displayName eq "Research 2"')}&excludedAttributes=members`)
    expect(sought.json.Resources).toMatchObject([{ id, externalId: 'g-1' }])
    expect((sought.json.Resources as object[])[0]).not.toHaveProperty('members')
    expect(membersOf(await team.send(`PUT /Groups/${id}`, { displayName: 'Research 2', members: [] }))).toEqual([])
    expect((await team.send('POST /Groups', { displayName: 'Research 2' })).json.scimType).toBe('uniqueness')
    expect((await team.send(`DELETE /Groups/${id}`)).status).toBe(204)
    expect((await teams()).find(({ name }) => name === 'Research 2')?.archived_at).not.toBeNull()
    expect((await auditOf(id)).map(({ action }) => action)).toContain('group_deleted')
  })

  it('that the configuration names gives its role while the person is in it', async () => {
    const [ann, ben] = [await createUser(), await createUser()]
    const roles = async () => [(await personOf(ann.id))?.role, (await personOf(ben.id))?.role]
    const made = await team.send('POST /Groups', {
      ...{ displayName: 'Viewers', members: [{ value: ann.id }, { value: ben.id }] },
    })
    const viewers = String(made.json.id)
    expect(await roles()).toEqual(['viewer', 'viewer'])
    const owners = String(
      (await team.send('POST /Groups', { displayName: 'Owners', members: [{ value: ann.id }] })).json.id,
    )
    expect(await roles()).toEqual(['owner', 'viewer'])
    await team.send(`DELETE /Groups/${owners}`)
    expect(await roles()).toEqual(['viewer', 'viewer'])
    await team.send(`PATCH /Groups/${viewers}`, patch({ op: 'remove', path: 'members' }))
    expect(await roles()).toEqual(['member', 'member'])
    const renamed = await team.send(
      `PATCH /Groups/${viewers}`,
      patch({ op: 'replace', path: 'displayName', value: 'X' }),
    )
    expect(renamed.json.scimType).toBe('mutability')
    // A rule of another account is none here.
    const foreign = await team.send('POST /Groups', { displayName: 'Elsewhere', members: [{ value: ann.id }] })
    expect(foreign.status).toBe(201)
    expect(await roles()).toEqual(['member', 'member'])
  })

  it('changes no operator, also one who was in it before', async () => {
    await signUp(server(), { email: newEmail(), account: other.account })
    const [root, ben] = [await createUser(other), await createUser(other)]
    const members = [{ value: root.id }, { value: ben.id }]
    const group = String((await other.send('POST /Groups', { displayName: 'Elsewhere', members })).json.id)
    const team = String((await other.send('POST /Groups', { displayName: 'Crew', members })).json.id)
    const { db, files } = server().app.operations
    const becomesOperator = "UPDATE people SET role = 'operator' WHERE id = ?"
    await files.ledger.atomic([{ sql: becomesOperator, rows: [[root.id]] }])
    const roles = async () => {
      const rows = await db.selectFrom('people').select('role').where('id', 'in', [root.id, ben.id]).orderBy('row')
      return (await rows.execute()).map(({ role }) => role)
    }
    expect(membersOf(await other.send(`GET /Groups/${group}`))).toEqual([ben.id])
    const remove = { op: 'remove', path: `members[value eq "${root.id}"]` }
    expect((await other.send(`PATCH /Groups/${group}`, patch(remove))).status).toBe(200)
    expect((await other.send(`PUT /Groups/${group}`, { displayName: 'Elsewhere', members: [] })).status).toBe(200)
    expect(await roles()).toEqual(['operator', 'member'])
    for (const each of [group, team]) expect((await other.send(`DELETE /Groups/${each}`)).status).toBe(204)
    expect(await roles()).toEqual(['operator', 'member'])
  })

  it('with many members is changed as a whole or not at all', async () => {
    const whole = await openDirectory('whole@example.com')
    const first = await signUp(server(), { email: newEmail(), account: whole.account })
    const users = await Promise.all(Array.from({ length: 12 }, () => createUser(whole)))
    const members = users.map(({ id }) => ({ value: id }))
    const made = await whole.send('POST /Groups', { displayName: 'Chiefs', members })
    expect([made.status, membersOf(made).length]).toEqual([201, 12])
    const path = `/Groups/${made.json.id}`
    await server().operate('people.disable', { person: first.email })
    const rolesNow = async () => {
      const { items } = await server().operate('people.list', { account: whole.account, limit: 50 })
      return new Set(items.filter(({ email }) => email !== first.email).map(({ role }) => role))
    }
    const entries = () => auditOf(String(made.json.id))
    const before = (await entries()).length
    // One of them is the last owner, so none of them loses the role, and the name stays.
    for (const refused of [
      await whole.send(`PUT ${path}`, { displayName: 'Readers', members: [] }),
      await whole.send(`PATCH ${path}`, patch({ op: 'remove', path: 'members' })),
      await whole.send(`DELETE ${path}`),
    ]) {
      expect(refused.status).toBe(409)
      const now = await whole.send(`GET ${path}`)
      expect([now.json.displayName, membersOf(now).length]).toEqual(['Chiefs', 12])
      expect(await rolesNow()).toEqual(new Set(['owner']))
    }
    expect(await entries()).toHaveLength(before)
    const heir = await createUser(whole)
    const handed = await whole.send(`PUT ${path}`, { displayName: 'Chiefs', members: [{ value: heir.id }] })
    expect(membersOf(handed)).toEqual([heir.id])
    // Thirteen people, five to an entry.
    expect(await entries()).toHaveLength(before + 3)
    await server().operate('people.enable', { person: first.email })
    const renamed = await whole.send(`PUT ${path}`, { displayName: 'Readers', members: [{ value: heir.id }] })
    expect(renamed.json.displayName).toBe('Readers')
    expect((await whole.send(`GET /Users/${heir.id}`)).json.roles).toMatchObject([{ value: 'viewer' }])
  })

  it('does not take the last owner away', async () => {
    const lone = await openDirectory('lone@example.com')
    const owner = await signUp(server(), { email: newEmail(), account: lone.account })
    const found = await lone.send(filtered('Users', `userName eq "${owner.email}"`))
    const { id } = (found.json.Resources as { id: string }[])[0]!
    expect((await lone.send(`DELETE /Users/${id}`)).status).toBe(409)
    expect(
      (await lone.send(`PATCH /Users/${id}`, patch({ op: 'Replace', path: 'active', value: 'False' }))).status,
    ).toBe(409)
    expect((await owner.call('GET /session')).person?.role).toBe('owner')
  })
})

describe('the service', () => {
  it('describes itself', async () => {
    const config = await team.send('GET /ServiceProviderConfig')
    expect(config.headers.get('content-type')).toBe('application/scim+json')
    expect(config.json).toMatchObject({ patch: { supported: true }, bulk: { supported: false } })
    const types = (await team.send('GET /ResourceTypes')).json.Resources as { schema: string }[]
    expect(types.map(({ schema }) => schema)).toEqual([USER, GROUP])
    expect((await team.send(`GET /Schemas/${USER}`)).json).toMatchObject({ id: USER, name: 'User' })
    expect((await team.send('GET /Schemas/none')).status).toBe(404)
    expect((await team.send('DELETE /ServiceProviderConfig')).status).toBe(405)
  })

  const REQUESTS = ['Users', 'Groups'].flatMap((kind) => [
    ...[`GET /${kind}`, `POST /${kind}`, `PUT /${kind}/x`, `PATCH /${kind}/x`, `DELETE /${kind}/x`],
  ])
  it.each([...REQUESTS, 'GET /Schemas', 'GET /ResourceTypes', 'GET /ServiceProviderConfig', 'GET /none'])(
    'answers keys for SCIM only: %s',
    async (request) => {
      const apiKey = (await server().operate('keys.create', { account: team.account, kind: 'wallet', name: 'k' })).key
      const { id, secret: revoked } = await createAdminKey(server(), ['scim'])
      await server().operate('admin-keys.revoke', { key: id })
      const body = /^(POST|PUT|PATCH)/.test(request) ? {} : undefined
      for (const [key, status] of [
        [undefined, '401'],
        ['nonsense', '401'],
        [apiKey, '401'],
        [revoked, '401'],
      ] as const) {
        const answer = await sendToScim(server(), request, { key, body })
        expect([answer.status, answer.json.status, answer.json.schemas]).toEqual([
          ...[Number(status), status, ['urn:ietf:params:scim:api:messages:2.0:Error']],
        ])
      }
      for (const scope of ADMIN_SCOPES) {
        if (scope === 'scim') continue
        const { secret: key } = await createAdminKey(server(), [scope])
        expect((await sendToScim(server(), request, { key, body })).status, scope).toBe(403)
      }
    },
  )

  it('has keys that do nothing else, and are made for an account alone', async () => {
    const shown = await sendToAdmin(server(), 'GET /key' as never, { key: team.key })
    expect([200, 404]).toContain(shown.status)
    for (const route of ['GET /accounts', 'GET /people', 'GET /audit'] as const)
      expect((await sendToAdmin(server(), route as never, { key: team.key })).status).toBe(403)
    const attempt = (order: object) => server().attempt('admin-keys.create', { name: 'x', ...order })
    expect(await attempt({ scopes: ['scim'] })).toMatchObject({ reason: 'invalid_arguments' })
    expect(await attempt({ scopes: ['scim', 'people:read'], account: team.account })).toMatchObject({ kind: 'refused' })
    expect(await attempt({ scopes: ['people:read'], account: team.account })).toMatchObject({ kind: 'refused' })
  })

  it.each([
    ['POST /Users', '{', 400, 'invalidSyntax'],
    ['POST /Users', '[]', 400, 'invalidSyntax'],
    ['POST /Users', { userName: 'no email' }, 400, 'invalidValue'],
    ['POST /Users', { userName: `${'x'.repeat(400)}@example.com` }, 400, 'invalidValue'],
    ['POST /Users', { userName: 'a\u0007@example.com' }, 400, 'invalidValue'],
    ['POST /Users', { userName: 'ok@example.com', active: 'perhaps' }, 400, 'invalidValue'],
    [
      'POST /Users',
      { userName: 'ok@example.com', __proto__: null, constructor: 1, displayName: {} },
      400,
      'invalidValue',
    ],
    ['POST /Groups', { displayName: '' }, 400, 'invalidValue'],
    ['POST /Groups', { displayName: 'x'.repeat(101) }, 400, 'invalidValue'],
    ['POST /Groups', { displayName: 'Ghosts', members: [{ value: 'usr_none' }] }, 400, 'invalidValue'],
    ['POST /Groups', { displayName: 'Ghosts', members: 'all' }, 400, 'invalidValue'],
    ['POST /Users', { userName: 'big@example.com', displayName: 'x'.repeat(200_000) }, 413, undefined],
  ] as const)('refuses %s %#', async (request, body, status, scimType) => {
    const answer = await team.send(request, body)
    expect([answer.status, answer.json.scimType], answer.text).toEqual([status, scimType])
  })

  it('refuses filters, paths and operations that it does not know', async () => {
    const { id, userName } = await createUser()
    for (const filter of ['userName co "a"', 'userName eq a', 'password eq "x"', `userName eq "${userName}" or id pr`])
      expect((await team.send(filtered('Users', filter))).json.scimType, filter).toBe('invalidFilter')
    for (const [operations, scimType] of [
      [[], 'invalidSyntax'],
      [[{ op: 'move', path: 'active' }], 'invalidSyntax'],
      [[{ op: 'remove' }], 'noTarget'],
      [[{ op: 'remove', path: 'userName' }], 'mutability'],
      [[{ op: 'replace', path: 'userName', value: 'new@example.com' }], 'mutability'],
      [Array(201).fill({ op: 'replace', path: 'active', value: true }), 'invalidValue'],
    ] as const)
      expect((await team.send(`PATCH /Users/${id}`, patch(...operations))).json.scimType).toBe(scimType)
    const plain = await sendToScim(server(), 'POST /Users', {
      ...{ key: team.key, body: '{}', headers: { 'content-type': 'text/plain' } },
    })
    expect(plain.status).toBe(415)
  })
})
