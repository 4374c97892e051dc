import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { sweepPeople } from '../../../src/admin/sessions.ts'
import { NEWEST } from '../../../src/admin/values.ts'
import type { AdminRouteName } from '../../../src/contract/admin-api.ts'
import { listAuditBefore } from '../../../src/db/audit.ts'
import { type AdminAnswer, createAdminKey, sendToAdmin } from '../../support/admin-api.ts'
import { openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ config: PLANS_CONFIG })

/** One admin key, as a program uses it. */
async function useAdminKey() {
  const { secret } = await createAdminKey(server(), ['admin'])
  return (name: AdminRouteName, idempotencyKey: string, sent: object = {}) =>
    sendToAdmin(server(), name, { key: secret, headers: { 'idempotency-key': idempotencyKey }, ...sent })
}

const outcomeOf = ({ status, headers, error }: AdminAnswer): string =>
  [status, error?.code, headers.get('idempotency-replayed') === 'true' ? 'replayed' : undefined]
    .filter((part) => part !== undefined)
    .join(' ')

const wallet = async (account: string): Promise<string> => (await server().operate('wallet.show', { account })).balance

const CREDIT = { amount: '5.00', reason: 'Invoice 1', ref: 'invoice-1' }

/** More than a request takes. */
const BROKEN_OFF_MS = 61_000

/** As a process that is killed between a change and its answer. */
const loseAnswers = () => server().content.atomic([{ sql: 'DELETE FROM answers', rows: [[]] }])

const countOrders = async (target: string): Promise<number> => {
  const rows = await listAuditBefore(server().app.operations.db, {
    target,
    account: undefined,
    before: NEWEST,
    limit: 99,
  })
  return rows.filter(({ action }) => action === 'wallet_ordered').length
}

describe('an Idempotency-Key at the management API', () => {
  it('gives a repeated credit the first answer, byte for byte', async () => {
    const send = await useAdminKey()
    const { id } = await openAccount(server())
    const before = Number(await wallet(id))
    const orders = await countOrders(id)
    const sent = { params: { account: id }, body: CREDIT }
    const first = await send('POST /accounts/:account/wallet/credit', 'k1', sent)
    const again = await send('POST /accounts/:account/wallet/credit', 'k1', sent)
    expect([outcomeOf(first), outcomeOf(again)]).toEqual(['200', '200 replayed'])
    expect(again.text).toBe(first.text)
    expect(first.json.repeated).toBe(false)
    expect(again.headers.get('x-original-request-id')).toBe(first.headers.get('x-request-id'))
    expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    expect(Number(await wallet(id))).toBe(before + 5)
    expect(await countOrders(id)).toBe(orders + 1)
  })

  it('gives a repeated creation the same secret, and makes one', async () => {
    const send = await useAdminKey()
    const { email, id } = await openAccount(server())
    const keys = async () => (await server().operate('keys.list', { account: id })).items.length
    const before = await keys()
    const sent = { body: { account: email, kind: 'wallet', name: 'CI' } }
    const texts = [await send('POST /keys', 'k2', sent), await send('POST /keys', '"k2"', sent)].map(({ text }) => text)
    expect(texts[1]).toBe(texts[0])
    expect(await keys()).toBe(before + 1)
  })

  it('belongs to one admin key, method and path, and to one body', async () => {
    const send = await useAdminKey()
    const other = await useAdminKey()
    const { id } = await openAccount(server())
    const sent = { params: { account: id }, body: CREDIT }
    const route = 'POST /accounts/:account/wallet/credit'
    const outcomes = [
      await send(route, 'shared', sent),
      await send(route, 'shared', { ...sent, body: { ...CREDIT, amount: '6.00' } }),
      await send(route, 'shared', { ...sent, body: `${JSON.stringify(CREDIT)} ` }),
      await send('POST /accounts/:account/wallet/refund', 'shared', sent),
      await other(route, 'shared', sent),
      await send('GET /accounts/:account/wallet', 'shared', { params: { account: id } }),
      await send(route, '', sent),
      await send(route, 'ä', sent).catch(() => undefined),
    ]
    expect(outcomes.flatMap((outcome) => (outcome === undefined ? [] : outcomeOf(outcome)))).toEqual([
      ...['200', '422 idempotency_key_reused', '422 idempotency_key_reused', '200', '200', '200'],
      ...['400 idempotency_key_invalid', '400 idempotency_key_invalid'],
    ])
    expect(outcomes[4]!.json.repeated).toBe(true)
  })

  it('lets one of many requests at once act', async () => {
    const send = await useAdminKey()
    const { id, email } = await openAccount(server())
    await server().operate('plans.assign', { account: id, plan: 'pro' })
    const before = Number(await wallet(id))
    const calls: [AdminRouteName, object][] = [
      ['POST /accounts/:account/wallet/credit', { params: { account: id }, body: CREDIT }],
      ['POST /accounts', { body: { email: `${randomUUID()}@example.com` } }],
      ['POST /keys', { body: { account: email, kind: 'wallet', name: 'many' } }],
      ['POST /codes', { body: { amount: '1', count: 3, note: 'many' } }],
      ['POST /accounts/:account/plan/end', { params: { account: id }, body: {} }],
      ['POST /people/invitations', { body: { role: 'owner', account: id } }],
      ['PATCH /accounts/:account', { params: { account: id }, body: { status: 'suspended' } }],
      ['POST /apply', { body: { accounts: [{ email: `${randomUUID()}@example.com` }] } }],
    ]
    for (const [name, sent] of calls) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => send(name, 'many', sent)))
      const outcomes = answers.map(outcomeOf)
      expect(
        outcomes.filter((outcome) => outcome === '200'),
        `${name}: ${outcomes.join(', ')}`,
      ).toHaveLength(1)
      const others = outcomes.filter((outcome) => outcome !== '200')
      for (const outcome of others) expect(outcome).toMatch(/^(200 replayed|409 idempotency_in_progress)$/)
      const again = await send(name, 'many', sent)
      expect(outcomeOf(again)).toBe('200 replayed')
      expect(again.text).toBe(answers.find((answer) => outcomeOf(answer) === '200')!.text)
    }
    expect(Number(await wallet(id))).toBe(before + 5)
    const keys = (await server().operate('keys.list', { account: id })).items
    expect(keys.filter(({ name }) => name === 'many')).toHaveLength(1)
  })

  it('keeps a refusal of the action too, but not of the request', async () => {
    const send = await useAdminKey()
    const email = `${randomUUID()}@example.com`
    const sent = { params: { account: email }, body: CREDIT }
    const route = 'POST /accounts/:account/wallet/credit'
    const mistyped = await send(route, 'late', { ...sent, body: { ...CREDIT, amount: 5 } })
    const first = await send(route, 'late', sent)
    await server().operate('accounts.create', { email })
    const again = await send(route, 'late', sent)
    const fresh = await send(route, 'later', sent)
    expect([mistyped, first, again, fresh].map(outcomeOf)).toEqual([
      ...['400 invalid_arguments', '404 account_not_found', '404 account_not_found replayed', '200'],
    ])
    expect(again.text).toBe(first.text)
    expect(await wallet(email)).toBe('5.00')
  })

  it('keeps no refusal that the next attempt may not get', async () => {
    const send = await useAdminKey()
    const accounts = [{ email: `${randomUUID()}@example.com` }]
    const { json } = await send('POST /apply', 'dry', { body: { accounts, dry_run: true } })
    const refused = await send('POST /apply', 'apply', { body: { accounts, expect: 'an older plan' } })
    const applied = await send('POST /apply', 'apply', { body: { accounts, expect: json.plan } })
    expect([refused, applied].map(outcomeOf)).toEqual(['409 plan_changed', '200'])
  })

  it('never makes a change twice whose answer is lost', async () => {
    const send = await useAdminKey()
    const { id, email } = await openAccount(server())
    const sent = { body: { account: email, kind: 'wallet', name: 'lost' } }
    expect((await send('POST /keys', 'lost', sent)).status).toBe(200)
    await loseAnswers()
    const soon = await send('POST /keys', 'lost', sent)
    server().advance(BROKEN_OFF_MS)
    const later = await send('POST /keys', 'lost', sent)
    expect([outcomeOf(soon), outcomeOf(later)]).toEqual([
      '409 idempotency_in_progress',
      '409 idempotency_not_replayable',
    ])
    expect(soon.headers.get('retry-after')).toBe('2')
    const keys = (await server().operate('keys.list', { account: id })).items
    expect(keys.filter(({ name }) => name === 'lost')).toHaveLength(1)
  })

  it('gives an order again that may not have reached the ledger, which counts it once', async () => {
    const send = await useAdminKey()
    const { id } = await openAccount(server())
    const before = Number(await wallet(id))
    const sent = { params: { account: id }, body: CREDIT }
    const route = 'POST /accounts/:account/wallet/credit'
    expect((await send(route, 'order', sent)).json.repeated).toBe(false)
    await loseAnswers()
    server().advance(BROKEN_OFF_MS)
    const answers = await Promise.all([send(route, 'order', sent), send(route, 'order', sent)])
    const ran = answers.filter((answer) => outcomeOf(answer) === '200')
    expect(ran.map(({ json }) => json.repeated)).toEqual([true])
    const replayed = await send(route, 'order', sent)
    expect([outcomeOf(replayed), replayed.text]).toEqual(['200 replayed', ran[0]!.text])
    expect(Number(await wallet(id))).toBe(before + 5)
  })

  it('is forgotten after retention.idempotency, and swept', async () => {
    const send = await useAdminKey()
    const sent = { body: { amount: '1', count: 1, note: 'day' } }
    const first = await send('POST /codes', 'day', sent)
    server().advance(24 * 3_600_000)
    const next = await send('POST /codes', 'day', sent)
    expect([outcomeOf(first), outcomeOf(next)]).toEqual(['200', '200'])
    expect(next.text).not.toBe(first.text)
    expect(outcomeOf(await send('POST /codes', 'day', sent))).toBe('200 replayed')
    server().advance(24 * 3_600_000)
    await sweepPeople(server().app.operations.people)
    const { db } = server().app.operations
    expect(await db.selectFrom('admin_calls').selectAll().execute()).toEqual([])
  })

  it('replays nothing to a key that was revoked', async () => {
    const { secret, id } = await createAdminKey(server(), ['admin'])
    const sent = { key: secret, headers: { 'idempotency-key': 'mine' }, body: { amount: '1', count: 1, note: '' } }
    expect((await sendToAdmin(server(), 'POST /codes', sent)).status).toBe(200)
    await server().operate('admin-keys.revoke', { key: id })
    expect((await sendToAdmin(server(), 'POST /codes', sent)).status).toBe(401)
  })
})
