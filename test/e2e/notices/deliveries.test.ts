import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PASSWORD, signUp } from '../../support/console-session.ts'
import { decoded, type MailSink, startMailSink } from '../../support/mail-sink.ts'
import type { TestServer } from '../../support/start-server.ts'
import { startServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { isSignedBy, startWebhookReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

let server: TestServer
let receiver: WebhookReceiver
let sink: MailSink
let account: TestAccount
let status = 204
let mailRefusal: (line: string) => string | 'hang' | 'close' | undefined = () => undefined
let closesInData = false

beforeAll(async () => {
  receiver = await startWebhookReceiver(() => status)
  sink = await startMailSink({ refuse: (line) => mailRefusal(line), closeInData: () => closesInData })
  server = await startServer({
    clock: 'still',
    config: `${TEST_CONFIG}
mail: { host: 127.0.0.1, port: ${sink.port}, tls: none, from: millrace@server.example }
notices: { allow_private_webhooks: true }
`,
  })
})
afterAll(async () => {
  await server.close()
  await Promise.all([receiver.close(), sink.close()])
})
beforeEach(async () => {
  status = 204
  mailRefusal = () => undefined
  closesInData = false
  account = await openAccount(server)
})

const add = (events = ['balance.low'] as const, url = receiver.url) =>
  server.operate('webhooks.add', { account: account.id, url, events: [...events] })
const deliveriesOf = async (webhook: string) =>
  (await server.operate('webhooks.deliveries.list', { webhook, limit: 50 })).items
const stateOf = async (webhook: string) =>
  (await server.operate('webhooks.list', { account: account.id })).items.find(({ id }) => id === webhook)!
const receivedAs = (id: string) => receiver.received.filter((each) => each.id === id)

/** Lets time pass until the newest delivery has ended; returns after how many attempts. */
async function letEnd(webhook: string, stepMs: number): Promise<number> {
  for (let steps = 0; steps < 200; steps++) {
    const [newest] = await deliveriesOf(webhook)
    if (newest!.state !== 'waiting') return newest!.attempts
    const before = newest!.attempts
    server.advance(stepMs)
    if (newest!.next_at !== null) await settled(webhook, before)
  }
  throw new Error('the delivery does not end')
}

/** The next attempt is made within the interval of the loop, if it is due. */
async function settled(webhook: string, before: number): Promise<void> {
  const until = Date.now() + 2600
  while (Date.now() < until) {
    const [newest] = await deliveriesOf(webhook)
    if (newest!.attempts > before && (newest!.state !== 'waiting' || newest!.error !== null)) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

describe('a webhook', () => {
  it('gets a message again with the same id until it is accepted, with growing pauses', async () => {
    const { webhook, secret } = await add()
    status = 500
    const { id } = await server.operate('webhooks.test', { webhook: webhook.id })
    await until(async () => (await deliveriesOf(webhook.id))[0]?.error === 'HTTP status 500')
    const [first] = await deliveriesOf(webhook.id)
    expect(first).toMatchObject({ id, event: 'test', state: 'waiting', attempts: 1, status: 500 })
    const pause = Date.parse(first!.next_at!) - Date.parse(first!.created_at)
    expect(pause).toBeGreaterThanOrEqual(4000)
    expect(pause).toBeLessThanOrEqual(6000)
    expect((await stateOf(webhook.id)).failing_since).not.toBeNull()
    status = 204
    expect(await letEnd(webhook.id, 7000)).toBe(2)
    expect(receivedAs(id)).toHaveLength(2)
    for (const each of receivedAs(id)) expect(isSignedBy(secret, each)).toBe(true)
    expect((await stateOf(webhook.id)).failing_since).toBeNull()
    const again = await server.operate('webhooks.resend', { webhook: webhook.id, delivery: id })
    expect(again.id).toBe(id)
    await until(() => receivedAs(id).length === 3)
    expect(receivedAs(id)[2]!.text).toBe(receivedAs(id)[0]!.text)
  })

  it('that does not accept is given up after about a day and a half, and follows no redirect', async () => {
    const { webhook } = await add()
    status = 307
    await server.operate('webhooks.test', { webhook: webhook.id })
    await until(async () => (await deliveriesOf(webhook.id))[0]?.error === 'HTTP status 307')
    const began = Date.parse((await deliveriesOf(webhook.id))[0]!.created_at)
    expect(await letEnd(webhook.id, 15 * HOUR)).toBe(11)
    const [ended] = await deliveriesOf(webhook.id)
    expect(ended).toMatchObject({ state: 'failed', status: 307, next_at: null })
    expect(Date.parse(ended!.ended_at!) - began).toBeGreaterThan(10 * 15 * HOUR - HOUR)
  }, 60_000)

  it('that fails for three days is switched off, which the owner is told', async () => {
    const { webhook } = await add()
    status = 503
    await server.operate('webhooks.test', { webhook: webhook.id })
    await until(async () => (await deliveriesOf(webhook.id))[0]?.error === 'HTTP status 503')
    server.advance(3 * DAY + MINUTE)
    await until(async () => (await stateOf(webhook.id)).state === 'failed')
    await until(async () =>
      (await server.operate('notices.list', { account: account.id, limit: 5 })).items.some(
        ({ event, facts }) => event === 'webhook.off' && facts.webhook === webhook.id,
      ),
    )
    const switched = await server.operate('webhooks.change', { webhook: webhook.id, enabled: true })
    expect(switched).toMatchObject({ state: 'on', failing_since: null })
  })

  it('is signed with the old secret too for a day after a rotation', async () => {
    const { webhook, secret } = await add()
    const rotated = await server.operate('webhooks.rotate', { webhook: webhook.id })
    const both = await server.operate('webhooks.test', { webhook: webhook.id })
    await until(() => receivedAs(both.id).length === 1)
    expect(isSignedBy(secret, receivedAs(both.id)[0]!)).toBe(true)
    expect(isSignedBy(rotated.secret, receivedAs(both.id)[0]!)).toBe(true)
    server.advance(DAY + MINUTE)
    const one = await server.operate('webhooks.test', { webhook: webhook.id })
    await until(() => receivedAs(one.id).length === 1)
    expect(isSignedBy(secret, receivedAs(one.id)[0]!)).toBe(false)
    expect(isSignedBy(rotated.secret, receivedAs(one.id)[0]!)).toBe(true)
    const { items: stored } = {
      items: await server.app.operations.files.ledger.all('SELECT * FROM webhooks WHERE id = ?', [webhook.id]),
    }
    const bytes = Buffer.from(rotated.secret.slice('whsec_'.length), 'base64')
    expect(Buffer.from(stored[0]!.secret as Uint8Array).includes(bytes)).toBe(false)
  })

  it('that never answers does not delay those of other accounts', async () => {
    let open = 0
    const silent = createServer(() => open++)
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`
    for (let hook = 0; hook < 8; hook++) {
      const { webhook } = await add(['balance.low'], url)
      for (let sent = 0; sent < 5; sent++) await server.operate('webhooks.test', { webhook: webhook.id })
    }
    const other = await openAccount(server)
    const hook = { account: other.id, url: receiver.url, events: ['balance.low'] as const }
    const { webhook } = await server.operate('webhooks.add', { ...hook, events: [...hook.events] })
    const { id } = await server.operate('webhooks.test', { webhook: webhook.id })
    await until(() => receivedAs(id).length === 1)
    expect(open).toBe(4)
    silent.closeAllConnections()
    silent.close()
  }, 30_000)

  it('that answers too late counts as failed', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { webhook } = await add(['balance.low'], `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`)
    await server.operate('webhooks.test', { webhook: webhook.id })
    await until(async () => (await deliveriesOf(webhook.id))[0]?.error != null)
    expect((await deliveriesOf(webhook.id))[0]).toMatchObject({
      state: 'waiting',
      status: null,
      error: 'no answer in time',
    })
    silent.closeAllConnections()
    silent.close()
  }, 20_000)
})

describe('a mail', () => {
  const invite = async () => {
    const email = `guest-${account.email}`
    await server.operate('people.invite', { email, role: 'viewer', account: account.id })
    const find = async () =>
      (
        await server.app.operations.files.ledger.all<{ state: string; attempts: number; error: string | null }>(
          'SELECT state, attempts, error, sealed FROM notice_deliveries WHERE recipient = ?',
          [email],
        )
      )[0]!
    return { email, find, sunk: () => sink.mails.filter(({ to }) => to.includes(email)) }
  }

  it('that the server refuses for good is not sent again', async () => {
    mailRefusal = (line) => (line.startsWith('RCPT') ? '550 5.1.1 no such mailbox' : undefined)
    const { find } = await invite()
    await until(async () => (await find()).state === 'failed')
    expect(await find()).toMatchObject({ attempts: 1, error: expect.stringContaining('550'), sealed: null })
  })

  it('that the mail server is slow to take does not delay those of other accounts', async () => {
    const slow = account.email
    let hanging = 0
    mailRefusal = (line) => {
      if (!line.startsWith('RCPT') || !line.includes(slow)) return undefined
      hanging++
      return 'hang'
    }
    for (let guest = 0; guest < 14; guest++)
      await server.operate('people.invite', { email: `${guest}-${slow}`, role: 'viewer', account: account.id })
    account = await openAccount(server)
    const { sunk } = await invite()
    await until(() => sunk().length === 1)
    expect(hanging).toBe(4)
  })

  it('that invites a member is refused after a hundred in an hour', async () => {
    const owner = await signUp(server, { email: account.email, account: account.id })
    const { clock, files } = server.app.operations
    const insert = `INSERT INTO notice_deliveries
      (id, event, recipient, mail_account, state, attempts, next_at, created_at, ended_at)
      VALUES (?, 'invitation', ?, (SELECT row FROM accounts WHERE id = ?), 'sent', 1, ?, ?, ?)`
    const now = clock.now()
    // The owner was invited too.
    const rows = Array.from({ length: 98 }, (_, sent) => [
      ...[`${account.id}-${sent}`, `${sent}@example.com`, account.id, now, now, now],
    ])
    await files.ledger.atomic([{ sql: insert, rows }])
    const inviteGuest = (guest: string) =>
      owner.send('POST /members/invite', { body: { email: `${guest}-${account.email}`, role: 'viewer' } })
    const answers = await Promise.all(['one', 'two', 'three'].map(inviteGuest))
    expect(answers.map(({ status, error }) => error?.code ?? status).sort()).toEqual([
      ...[200, 'too_many_invitations', 'too_many_invitations'],
    ])
    server.advance(3_600_001)
    await owner.call('POST /session', { body: { email: owner.email, password: PASSWORD } })
    expect((await inviteGuest('four')).status).toBe(200)
  })

  it.each([
    ['is busy', () => (mailRefusal = (line) => (line.startsWith('MAIL') ? '451 try later' : undefined))],
    ['closes the connection in the middle of a mail', () => (closesInData = true)],
  ])('that arrives while the mail server %s is sent again', async (_, begin) => {
    begin()
    const { email, find, sunk } = await invite()
    await until(async () => (await find()).error !== null)
    expect(await find()).toMatchObject({ state: 'waiting', attempts: 1 })
    mailRefusal = () => undefined
    closesInData = false
    server.advance(7000)
    await until(() => sunk().length === 1)
    expect(decoded(sunk()[0]!)).toMatch(new RegExp(`^To: ${email}`, 'm'))
    await until(async () => (await find()).state === 'sent')
    expect(await find()).toMatchObject({ attempts: 2, sealed: null })
  })
})
