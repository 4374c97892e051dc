import { expect, it } from 'vitest'
import { ADMIN_ROUTES } from '../../../src/contract/admin-api.ts'
import { ADMIN_NAMES, createAdminKey } from '../../support/admin-api.ts'
import { openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ config: PLANS_CONFIG })

const VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 0.1, 1e21, 2 ** 53, [], {}, [[]], ['x'], { a: 1 }, { toString: 1 }],
  ...['', ' ', '0', '-1', '1e3', '0x10', 'NaN', '999999999999999999999.000000001', '٣', '９', '1.0000000001'],
  ...[
    '\u0000',
    'a\u0000b',
    '\ud800',
    'a\u202eb',
    '👩‍👩‍👧',
    'x'.repeat(100_000),
    "'; DROP TABLE keys; --",
    '{{7*7}}',
    '%s%n',
  ],
  ...[
    '9999-12-31',
    '10000-01-01',
    '0000-01-01',
    '2027-02-31',
    '999999w',
    '1969-12-31T23:59:59Z',
    '2027-01-31T25:00:00Z',
  ],
  ...['__proto__', 'constructor', 'a@b', 'A@B.C', '@', 'code:x', '*', '../../etc/passwd'],
]

/** Of all pairs of a field and a value every fourth is sent, others in each run; all with `WHOLE_MATRIX=1`. */
const SHARE = process.env.WHOLE_MATRIX === '1' ? 1 : 4
let pairs = process.pid

/** An example with its fields replaced by these values, and with a field more. */
function* variantsOf(example: unknown): Generator<object> {
  const fields = Object.entries((example ?? {}) as object)
  for (const [name] of fields)
    for (const value of VALUES) if (pairs++ % SHARE === 0) yield { ...(example as object), [name]: value }
  for (const name of ['x', 'constructor', 'toString']) yield { ...(example as object), [name]: 1 }
}

const RAW_BODIES: readonly (string | Uint8Array)[] = [
  ...['', ' ', '{', 'null', '[]', '1', '"x"', '{"__proto__":{"email":"a@b.c"}}', '{"email":1,"email":2}'],
  ...['['.repeat(60_000), `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`, new Uint8Array([0xff, 0xfe, 0x7b, 0x7d])],
  ...['{"name":"\\ud800","account":"x","kind":"wallet"}', 'x'.repeat(10_000_000)],
]

const ODD_IDS = ['req_x', 'adm_x', 'usr_x', '%00', '%FF', '%2e%2e', 'x'.repeat(321), '＠', "'"]

/** No list has given them out. */
const CURSORS = [
  'zzzzzzzzzzz',
  '-1',
  '0',
  '1',
  '9007199254740993',
  'key_x',
  '%00',
  'ä',
  '1'.repeat(400),
  'code_x',
  'NaN',
  '',
]

/** A value in a query, as browsers write it, and cut so that the request line stays within its bound. */
const inQuery = (value: unknown): string => {
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return new URLSearchParams([['', text.slice(0, 2000)]]).toString()
}

/** What is wrong with an answer: only refusals and answers may be sent, and no secret in a refusal. */
function faultOf(status: number, text: string, secrets: readonly string[]): boolean {
  if (status === 200) return false
  const { message } = JSON.parse(text).error
  return status >= 500 || typeof message !== 'string' || secrets.some((secret) => text.includes(secret))
}

it('every route of the management API answers hostile input, and none fails', async () => {
  const { secret } = await createAdminKey(server(), ['admin'])
  const account = await openAccount(server())
  const key = await account.createKey()
  const [code] = (await server().operate('codes.create', { amount: '1', count: 1, note: '' })).items
  const team = await server().operate('teams.create', { account: account.id, name: 'Red' })
  const own: Record<string, string> = { account: account.id, key: key.id, code: code!.code.id, team: team.id }
  const ids = [...Object.values(own), account.email, secret, account.key, ...ODD_IDS]
  const faults: string[] = []
  const send = async (method: string, path: string, body?: string | Uint8Array) => {
    const answer = await fetch(`http://127.0.0.1:${server().port}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: body as string }),
    })
    const text = await answer.text()
    if (faultOf(answer.status, text, [secret, account.key]))
      faults.push(
        `${answer.status} ${method} ${path.slice(0, 200)} ${String(body).slice(0, 200)}: ${text.slice(0, 300)}`,
      )
  }
  for (const name of ADMIN_NAMES) {
    const [method = '', template = ''] = name.split(' ')
    const { query = {}, body = {} } = ADMIN_ROUTES[name].example as { query?: object; body?: object }
    const path = template.replace(/:(\w+)/g, (_, each: string) => own[each] ?? 'none')
    const bodies = method === 'GET' ? [undefined] : [JSON.stringify(body)]
    for (const id of path === template ? [] : ids) await send(method, template.replace(/:\w+/g, id), ...bodies)
    if (method === 'GET') {
      for (const variant of variantsOf(query))
        await send(
          method,
          `${path}?${Object.entries(variant)
            .map(([part, value]) => part + inQuery(value))
            .join('&')}`,
        )
      for (const after of CURSORS) await send(method, `${path}?${new URLSearchParams({ ...query, after })}`)
    } else {
      for (const variant of variantsOf(body)) await send(method, path, JSON.stringify(variant))
      for (const raw of RAW_BODIES) await send(method, path, raw)
    }
  }
  expect(faults).toEqual([])
}, 240_000)

it('a hundred changes of one key at once leave it as one of them says', async () => {
  const { secret } = await createAdminKey(server(), ['admin'])
  const account = await openAccount(server())
  const { id } = await account.createKey()
  const change = (at: number) =>
    fetch(`http://127.0.0.1:${server().port}/admin/v1/keys/${id}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: `n${at}`, caps: { day: `${at + 1}.00`, month: `${at + 1}.50` } }),
    })
  const statuses = (await Promise.all(Array.from({ length: 100 }, (_, at) => change(at)))).map(({ status }) => status)
  expect(new Set(statuses)).toEqual(new Set([200]))
  const { name, caps } = await server().operate('keys.show', { key: id })
  const at = Number(name.slice(1)) + 1
  expect(caps).toEqual({ day: `${at}.00`, month: `${at}.50` })
})
