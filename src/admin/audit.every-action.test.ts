import { describe, expect, it } from 'vitest'
import { useTestLedger } from '../../test/fixtures/admin/use-test-ledger.ts'
import { OPERATIONS, runOperation } from './operations.ts'
import type { ServerStatus } from './server-status.ts'

const fixture = useTestLedger()

const absent: ServerStatus = { running: false, version: '0', node: '0', data: '' }

async function run(name: string, args: object, status: ServerStatus = absent): Promise<Record<string, unknown>> {
  const outcome = await runOperation({ ...fixture.services, status: () => status }, name, args)
  return outcome.kind === 'done' ? (outcome.value as Record<string, unknown>) : { ...outcome }
}

const acts = async () =>
  (await fixture.database.file.all('SELECT actor, action, account, detail FROM audit ORDER BY seq', [])).map((row) =>
    [row.actor, row.action, String(row.account), row.detail].join(' | '),
  )

const A = { account: 'a@example.com' }

describe('the command line', () => {
  it('records mutations in the audit log of the account, and queries nowhere', async () => {
    await run('accounts.create', { email: 'a@example.com' })
    await run('accounts.create', { email: 'a@example.com' })
    await run('accounts.suspend', A)
    await run('wallet.credit', { ...A, amount: '5', reason: 'June', ref: 'r' })
    await run('wallet.credit', { ...A, amount: '5', reason: 'June', ref: 'r' })
    const { id, key } = (await run('keys.create', { ...A, kind: 'wallet', name: 'ci' })) as { id: string; key: string }
    await run('keys.rename', { key: id, name: 'nightly' })
    await run('keys.revoke', { key: id })
    for (const name of ['accounts.list', 'keys.list', 'models.list', 'people.list', 'db.verify']) await run(name, {})
    expect(await acts()).toEqual([
      'operator | account_created | null | a@example.com',
      'operator | account_status | 1 | suspended',
      'operator | wallet_ordered | 1 | 5.00 USD (r): June',
      'operator | wallet_ordered | 1 | 5.00 USD (r): June',
      'operator | order_void | 1 | counted before: 5.00 USD (r): June',
      'operator | key_created | 1 | made "ci" (wallet)',
      'operator | key_changed | 1 | renamed to "nightly" (wallet)',
      'operator | key_revoked | 1 | revoked "nightly" (wallet)',
    ])
    expect(JSON.stringify(await fixture.database.file.all('SELECT * FROM audit', []))).not.toContain(key)
  })

  it('invites, lists, disables and enables people', async () => {
    await run('accounts.create', { email: 'a@example.com' })
    const invited = await run('people.invite', { role: 'owner', email: 'A@example.com' })
    expect(invited).toMatchObject({ email: 'a@example.com', role: 'owner' })
    expect(invited.link).toBe(`http://127.0.0.1:4600/console/setup?code=${invited.code}`)
    expect(await run('people.list', {})).toEqual({ items: [], next: null })
    expect(await run('people.list', A)).toEqual({ items: [], next: null })
    expect(await run('people.disable', { person: 'a@example.com' })).toMatchObject({ reason: 'person_not_found' })
    expect(await run('people.enable', { person: 'usr_none' })).toMatchObject({ reason: 'person_not_found' })
    expect(await run('people.invite', { role: 'owner', email: 'no email' })).toMatchObject({
      reason: 'invalid_arguments',
    })
  })

  it('uses the address of the running server in links', async () => {
    await run('accounts.create', { email: 'a@example.com' })
    const server = { running: true, url: 'http://127.0.0.1:9', public_url: null } as ServerStatus
    const link = async (status: ServerStatus) => (await run('people.invite', { role: 'owner', ...A }, status)).link
    expect(await link(server)).toMatch(/^http:\/\/127\.0\.0\.1:9\/console\/setup\?code=/)
    const behind = { ...server, public_url: 'https://llm.example.com' } as ServerStatus
    expect(await link(behind)).toMatch(/^https:\/\/llm\.example\.com\/console\/setup\?code=/)
  })

  it('finds a broken audit log when it verifies the ledger', async () => {
    await run('accounts.create', { email: 'a@example.com' })
    expect(await run('db.verify', {})).toMatchObject({
      ok: true,
      audited: 1,
      audit_head: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    await fixture.database.file.atomic([
      { sql: 'DROP TRIGGER audit_is_final', rows: [[]] },
      { sql: `UPDATE audit SET detail = 'b@example.com'`, rows: [[]] },
    ])
    expect(await run('db.verify', {})).toMatchObject({
      ok: false,
      violations: 1,
      frozen: [],
      checks: expect.arrayContaining([{ name: 'the audit log is one unbroken chain (first at 1)', violations: 1 }]),
    })
  })

  it('writes an entry for every mutation', async () => {
    const { id } = await run('accounts.create', { email: 'a@example.com' })
    const { id: key } = await run('keys.create', { ...A, kind: 'wallet', name: 'ci' })
    const made = await run('codes.create', { amount: '5.00', count: 2, note: 'n' })
    const [paper, other] = made.items as [{ code: { id: string }; secret: string }, { code: { id: string } }]
    const money = { ...A, amount: '1', reason: 'June' }
    const { id: adminKey } = await run('admin-keys.create', { name: 'CI', scopes: ['admin'] })
    const { id: team } = await run('teams.create', { ...A, name: 'Red', caps: { day: '1' } })
    const added = await run('webhooks.add', { url: 'https://hooks.invalid/', events: ['lane.down'] })
    const { id: webhook } = added.webhook as { id: string }
    const { id: delivery } = await run('webhooks.test', { webhook })
    const samples: Record<string, object> = {
      'accounts.new-key-caps': { ...A, month: '50' },
      'teams.create': { ...A, name: 'Blue' },
      'teams.change': { team, name: 'Green' },
      'teams.raise': { team, cap: 'day', to: '2', until: '1h' },
      'people.caps': { person: 'unknown@example.com', day: '1' },
      'people.raise': { person: 'unknown@example.com', cap: 'day', to: '2', until: '1h' },
      'notices.settings': { ...A, low_balance: '5.00' },
      'webhooks.add': { ...A, url: 'https://hooks.invalid/', events: ['balance.low'] },
      'webhooks.change': { webhook, enabled: true },
      'webhooks.rotate': { webhook },
      'webhooks.test': { webhook },
      'webhooks.resend': { webhook, delivery },
      'webhooks.remove': { webhook },
      'mail.test': { to: 'a@example.com' },
      'accounts.apply': { accounts: [{ email: 'c@example.com' }] },
      'managed.change': { upstreams: [{ id: 'second', wire: 'demo' }] },
      'admin-keys.create': { name: 'second', scopes: ['keys:read'] },
      'admin-keys.revoke': { key: adminKey },
      'accounts.create': { email: 'b@example.com' },
      'accounts.suspend': A,
      'accounts.activate': { account: id },
      'wallet.credit': { ...money, ref: '1' },
      'wallet.refund': { ...money, ref: '2' },
      'wallet.adjust': { ...money, ref: '3', direction: 'add' },
      'keys.create': { ...A, kind: 'wallet', name: 'second' },
      'keys.disable': { key },
      'keys.enable': { key },
      'keys.rename': { key, name: 'renamed' },
      'keys.caps': { key, day: '5.00' },
      'keys.raise': { key, cap: 'day', to: '6.00', until: '1h' },
      'keys.change': { key, expires: '30d' },
      'keys.rotate': { key, grace: '0' },
      'keys.revoke': { key },
      'codes.create': { amount: '1.00', count: 1, note: '' },
      'codes.redeem': { ...A, code: paper.secret },
      'codes.withdraw': { code: other.code.id },
      'payments.reconcile': {},
      'plans.assign': { ...A, plan: 'none such' },
      'plans.end': A,
      'people.invite': { role: 'owner', ...A },
      'people.disable': { person: 'unknown@example.com' },
      'people.enable': { person: 'unknown@example.com' },
      'people.remove-factors': { person: 'unknown@example.com' },
      'people.unlink': { person: 'unknown@example.com' },
      'db.clock.follow': {},
      'db.clock.set-back': {},
      'db.backup': { to: '/backup', folder: '/backup.partial', key_ring: true },
    }
    const silent =
      /\.(list|show|entries|compare|explain|trace|verify|wishes|report|export|accounts|read|history|preview|find|try)$|^status$|^db\.clock$/
    expect(Object.keys(samples).toSorted()).toEqual(
      Object.keys(OPERATIONS)
        .filter((name) => !silent.test(name))
        .toSorted(),
    )
    for (const [name, args] of Object.entries(samples)) {
      const before = (await acts()).length
      const outcome = await run(name, args)
      // There is no plan and no person; ending a missing subscription is an order without effect.
      // The clocks agree; what a clock command leaves when they do not is in the walk of a clock that jumps.
      // Without a provider of payments there is nothing to reconcile.
      const nothing = outcome.kind === 'refused' || name.startsWith('db.') || name === 'payments.reconcile'
      const lines = name === 'plans.end' ? 2 : nothing ? 0 : 1
      expect([name, (await acts()).length - before]).toEqual([name, lines])
    }
  })
})
