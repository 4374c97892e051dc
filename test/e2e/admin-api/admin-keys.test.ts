import { describe, expect, it } from 'vitest'
import type { AdminScope } from '../../../src/contract/admin-keys.ts'
import { createAdminKey, sendToAdmin } from '../../support/admin-api.ts'
import { signUp } from '../../support/console-session.ts'
import { fillDiskFor } from '../../support/full-disk.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()

const ask = (key: string, name: Parameters<typeof sendToAdmin>[1], sent: object = {}) =>
  sendToAdmin(server(), name, { key, ...sent })

describe('an admin key', () => {
  it('is told from an API key, in both directions', async () => {
    const account = await openAccount(server())
    const { secret } = await createAdminKey(server(), ['admin'])
    expect(secret).toMatch(/^mra_[0-9A-Za-z]{49}$/)
    const atModels = await chat(server(), { key: secret })
    expect([atModels.status, atModels.json.error?.message]).toEqual([
      401,
      expect.stringMatching(/admin key.*\/admin\/v1/),
    ])
    const atAdmin = await ask(account.key, 'GET /accounts')
    expect([atAdmin.status, atAdmin.error?.message]).toEqual([401, expect.stringMatching(/API key.*\/v1 only/)])
  })

  it('is rejected from its revocation and its expiry on', async () => {
    const { secret, id } = await createAdminKey(server(), ['accounts:read'])
    expect((await ask(secret, 'GET /accounts')).status).toBe(200)
    await server().operate('admin-keys.revoke', { key: id })
    expect((await ask(secret, 'GET /accounts')).error?.message).toMatch(/revoked/)
    const short = await createAdminKey(server(), ['accounts:read'], '1h')
    expect((await ask(short.secret, 'GET /accounts')).status).toBe(200)
    server().advance(3_600_000)
    expect((await ask(short.secret, 'GET /accounts')).error?.message).toMatch(/expired/)
    const { items } = await server().operate('admin-keys.list', {})
    const states = items.map((key) => [key.id, key.state])
    expect(states).toEqual(
      expect.arrayContaining([
        [id, 'revoked'],
        [short.id, 'expired'],
      ]),
    )
  })

  it('does nothing if it is revoked or expires while its request arrives', async () => {
    const text = JSON.stringify({ name: 'made', scopes: ['admin'] })
    const upload = async (secret: string, meanwhile: () => unknown) => {
      const socket = await openRawSocket(server())
      socket.write(
        `POST /admin/v1/admin-keys HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${secret}\r\n` +
          `content-type: application/json\r\ncontent-length: ${text.length}\r\nexpect: 100-continue\r\n\r\n`,
      )
      // The server asks for the body, so it has accepted the key.
      expect((await socket.answer()).status).toBe(100)
      socket.write(text.slice(0, 5))
      await meanwhile()
      socket.write(text.slice(5))
      const answer = await socket.answer()
      socket.destroy()
      return answer
    }
    const revoked = await createAdminKey(server(), ['admin'])
    const short = await createAdminKey(server(), ['admin'], '1h')
    const answers = [
      await upload(revoked.secret, () => server().operate('admin-keys.revoke', { key: revoked.id })),
      await upload(short.secret, () => server().advance(3_600_000)),
    ]
    expect(answers.map(({ status }) => status)).toEqual([401, 401])
    const { items } = await server().operate('admin-keys.list', {})
    expect(items.filter(({ created_by }) => created_by === `admin-key:${revoked.id}`)).toEqual([])
  })

  it('says when it was last used, and nothing else that it was', async () => {
    const { secret, id } = await createAdminKey(server(), ['usage:read'])
    const used = async () => (await server().operate('admin-keys.list', {})).items.find((key) => key.id === id)
    expect(await used()).toMatchObject({ last_used_at: null })
    const own = await ask(secret, 'GET /key')
    expect(own.json).toMatchObject({ id, scopes: ['usage:read'], state: 'active' })
    expect(own.json.last_used_at).toBe((await used())?.last_used_at)
    expect(JSON.stringify(await used())).not.toContain(secret.slice(8, -4))
  })

  it('reads while nothing can be written', async () => {
    const { secret, id } = await createAdminKey(server(), ['accounts:read'])
    const makeRoom = await fillDiskFor(server().app.operations.db, 'UPDATE ON admin_keys')
    expect((await ask(secret, 'GET /accounts')).status).toBe(200)
    await makeRoom()
    expect((await ask(secret, 'GET /accounts')).status).toBe(200)
    const { items } = await server().operate('admin-keys.list', {})
    expect(items.find((key) => key.id === id)?.last_used_at).not.toBeNull()
  })

  it('makes no key that can do more or works longer than itself, and revokes none', async () => {
    const { secret } = await createAdminKey(server(), ['admin-keys:write', 'keys:read'], '10d')
    const make = (scopes: AdminScope[], expires?: string) =>
      ask(secret, 'POST /admin-keys', { body: { name: 'made', scopes, expires } })
    const refused = [
      await make(['admin']),
      await make(['keys:write'], '1d'),
      await make(['keys:read']),
      await make(['keys:read'], '11d'),
    ]
    expect(refused.map(({ status, error }) => [status, error?.code, error?.param])).toEqual([
      ...[
        [403, 'scope_exceeded', 'scopes'],
        [403, 'scope_exceeded', 'scopes'],
      ],
      ...[
        [403, 'scope_exceeded', 'expires'],
        [403, 'scope_exceeded', 'expires'],
      ],
    ])
    const made = await make(['keys:read', 'admin-keys:read'], '9d')
    expect(made.status).toBe(200)
    const stronger = await createAdminKey(server(), ['wallet:write'])
    const revoke = (key: string) => ask(secret, 'POST /admin-keys/:key/revoke', { params: { key } })
    expect((await revoke(stronger.id)).error?.code).toBe('scope_exceeded')
    expect((await revoke(made.json.id as string)).json.state).toBe('revoked')
    expect((await revoke('adm_none')).status).toBe(404)
  })

  it('is the actor of what it changes, in the audit log', async () => {
    const { secret, id } = await createAdminKey(server(), ['admin'])
    const account = await openAccount(server())
    const params = { account: account.id }
    await ask(secret, 'PATCH /accounts/:account', { params, body: { status: 'suspended' } })
    const credit = { amount: '1', reason: 'x', ref: 'y' }
    expect((await ask(secret, 'POST /accounts/:account/wallet/credit', { params, body: credit })).json.repeated).toBe(
      false,
    )
    expect((await ask(secret, 'POST /accounts/:account/wallet/credit', { params, body: credit })).json.repeated).toBe(
      true,
    )
    await ask(secret, 'POST /people/invitations', { body: { role: 'owner', account: account.id } })
    const { items } = (await ask(secret, 'GET /audit', { query: { limit: 5 } })).json as {
      items: { actor: string; action: string }[]
    }
    expect(items.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
      ...['invited', 'order_void', 'wallet_ordered', 'wallet_ordered', 'account_status'].map(
        (action) => `admin-key:${id} ${action}`,
      ),
    ])
  })

  it('sees of an account what its scopes name', async () => {
    const { id } = await openAccount(server())
    const seen = async (...scopes: AdminScope[]) => {
      const { secret } = await createAdminKey(server(), scopes)
      const { json } = await ask(secret, 'GET /accounts/:account', { params: { account: id } })
      const { items } = (await ask(secret, 'GET /accounts')).json as { items: Record<string, unknown>[] }
      const item = items.find((account) => account.id === id)!
      const parts = ['wallet', 'plan', 'subscription', 'members', 'asked'].filter((part) => json[part] !== null)
      return [...parts, ...(item.wallet === null ? [] : ['wallet of the list'])]
    }
    expect(await seen('accounts:read')).toEqual([])
    expect(await seen('accounts:read', 'people:read')).toEqual(['members'])
    expect(await seen('accounts:read', 'plans:write')).toEqual(['subscription'])
    expect(await seen('accounts:read', 'wallet:read')).toEqual(['wallet', 'wallet of the list'])
    expect(await seen('admin')).toEqual(['wallet', 'subscription', 'members', 'wallet of the list'])
  })

  it('names the keys that it has made when it is revoked', async () => {
    const { secret, id } = await createAdminKey(server(), ['admin-keys:write'])
    const make = async (maker: string) =>
      (await ask(maker, 'POST /admin-keys', { body: { name: 'made', scopes: ['admin-keys:write'] } })).json
    const child = await make(secret)
    const grandchild = await make(child.secret as string)
    expect((await server().operate('admin-keys.revoke', { key: child.id as string })).made).toEqual([grandchild.id])
    expect((await server().operate('admin-keys.revoke', { key: id })).made).toEqual([grandchild.id])
    expect((await ask(grandchild.secret as string, 'GET /key')).status).toBe(200)
  })

  it('does not hand out the rights of an operator without the scope admin', async () => {
    await signUp(server(), { email: 'chief@example.com', role: 'operator' })
    const { secret } = await createAdminKey(server(), ['people:write'])
    const invite = (body: object) => ask(secret, 'POST /people/invitations', { body })
    const refused = [
      await invite({ role: 'operator', email: 'second@example.com' }),
      await invite({ role: 'owner', email: 'chief@example.com', resets: true }),
      await ask(secret, 'POST /people/:person/disable', { params: { person: 'Chief@example.com' } }),
    ]
    expect(refused.map(({ error }) => error?.code)).toEqual(Array(3).fill('scope_exceeded'))
    const admin = await createAdminKey(server(), ['admin'])
    const invited = await ask(admin.secret, 'POST /people/invitations', {
      body: { role: 'operator', email: 'second@example.com' },
    })
    expect(invited.json.link).toMatch(/\/console\/setup\?code=/)
    // Any other link for them would void theirs.
    const { id: second } = await server().operate('accounts.create', { email: 'second@example.com' })
    for (const body of [{ email: 'second@example.com' }, { account: second }]) {
      expect((await invite({ role: 'owner', ...body })).error?.code).toBe('scope_exceeded')
    }
    const code = String(invited.json.link).split('code=')[1]!
    await server().operate('admin-keys.revoke', { key: admin.id })
    const after = await fetch(`http://127.0.0.1:${server().port}/console/api/invitation`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ code }),
    })
    expect(after.status, 'a link of a revoked key').toBe(403)
  })
})

describe('the management API', () => {
  it('answers what cannot be served with an error that says what to do', async () => {
    const { secret } = await createAdminKey(server(), ['admin'])
    const raw = (method: string, path: string, init: RequestInit = {}) =>
      fetch(`http://127.0.0.1:${server().port}/admin/v1${path}`, {
        ...init,
        method,
        headers: { authorization: `Bearer ${secret}`, ...init.headers },
      })
    const json = { 'content-type': 'application/json' }
    const answers = [
      await raw('GET', '/nothing'),
      await raw('DELETE', '/accounts'),
      await raw('POST', '/accounts', { body: '{', headers: json }),
      await raw('POST', '/accounts', { body: '{"email":"a@b.c"}', headers: { 'content-type': 'text/plain' } }),
      await raw('POST', '/accounts', { body: '{"email":"a@b.c","x":1}', headers: json }),
      await raw('POST', '/accounts', { body: `{"email":"${'a'.repeat(200_000)}"}`, headers: json }),
      await raw('GET', '/accounts?limit=1000'),
      await raw('GET', `/accounts/${'x'.repeat(400)}`),
      await raw('GET', '/accounts/%E0%A4%A'),
      await raw('GET', '/keys/mr_wallet_00000000000000000000'),
      await raw('GET', '/accounts', { headers: { origin: 'https://evil.example' } }),
      await raw('GET', '/accounts', { headers: { origin: 'http://localhost:3000' } }),
    ]
    const codes = await Promise.all(
      answers.map(async (answer) => [answer.status, ((await answer.json()) as { error: { code: string } }).error.code]),
    )
    expect(codes).toEqual([
      ...[
        [404, 'endpoint_not_provided'],
        [405, 'method_not_allowed'],
        [400, 'invalid_arguments'],
        [415, 'json_needed'],
      ],
      ...[
        [400, 'invalid_arguments'],
        [413, 'body_too_large'],
        [400, 'invalid_arguments'],
        [404, 'not_found'],
      ],
      ...[
        [404, 'account_not_found'],
        [404, 'key_not_found'],
        [403, 'browser_not_allowed'],
        [403, 'browser_not_allowed'],
      ],
    ])
    expect(answers[1]!.headers.get('allow')).toBe('GET, HEAD, POST')
  })

  it('makes one key for several applies of one plan at once', async () => {
    const { secret } = await createAdminKey(server(), ['admin'])
    const accounts = [{ email: 'parallel@example.com', keys: [{ name: 'laptop', kind: 'wallet' }] }]
    await server().operate('accounts.create', { email: 'parallel@example.com' })
    const { json } = await ask(secret, 'POST /apply', { body: { accounts, dry_run: true } })
    const apply = () => ask(secret, 'POST /apply', { body: { accounts, expect: json.plan } })
    const statuses = (await Promise.all([apply(), apply(), apply()])).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 409, 409])
    const { items } = await server().operate('keys.list', { account: 'parallel@example.com' })
    expect(items.map(({ name }) => name)).toEqual(['laptop'])
  })

  it('limits requests without a valid key by address', async () => {
    const { secret } = await createAdminKey(server(), ['admin'])
    await server().reload(`${TEST_CONFIG}\nlimits: { address: { refused_per_minute: 6, burst: 30s } }`)
    const statuses = []
    for (let tries = 0; tries < 4; tries++) statuses.push((await ask('mra_wrong', 'GET /accounts')).status)
    expect(statuses).toEqual([401, 401, 401, 429])
    expect((await ask(secret, 'GET /key')).status).toBe(200)
  })
})
