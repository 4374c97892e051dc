import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBrowser, signUp } from '../../support/console-session.ts'
import { decoded, type MailSink, startMailSink } from '../../support/mail-sink.ts'
import { chat } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { isSignedBy, startWebhookReceiver, type WebhookReceiver } from '../../support/webhook-receiver.ts'

let server: TestServer
let sink: MailSink
let receiver: WebhookReceiver

beforeAll(async () => {
  sink = await startMailSink()
  receiver = await startWebhookReceiver()
  server = await startServer({
    config: `${PLANS_CONFIG}
mail: { host: 127.0.0.1, port: ${sink.port}, tls: none, from: "Millrace <millrace@server.example>" }
notices: { allow_private_webhooks: true }
`,
  })
})
afterAll(async () => {
  await server.close()
  await Promise.all([sink.close(), receiver.close()])
})

const mailsTo = (email: string) => sink.mails.filter(({ to }) => to.includes(email))
const balance = async (account: string) => Number((await server.operate('wallet.show', { account })).balance)

describe('a low balance', () => {
  it('is told once while many requests cross the threshold, and again after a top-up', async () => {
    const account = await openAccount(server, { credit: '1.00' })
    const owner = await signUp(server, { email: account.email, account: account.id })
    await owner.call('PATCH /notices/preferences', { body: { language: 'de' } })
    const { secret } = await owner.call('POST /webhooks', { body: { url: receiver.url, events: ['balance.low'] } })
    await owner.call('PUT /notices/settings', { body: { low_balance: '0.9999' } })
    await Promise.all(
      Array.from({ length: 40 }, () => chat(server, account, { messages: [{ role: 'user', content: 'count to 90' }] })),
    )
    expect(await balance(account.id)).toBeLessThan(0.9999)
    const hooked = () => receiver.received.filter(({ type }) => type === 'balance.low')
    await until(() => hooked().length > 0 && mailsTo(account.email).length > 0)
    await chat(server, account, { messages: [{ role: 'user', content: 'one more' }] })
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect(hooked()).toHaveLength(1)
    expect(hooked()[0]!.body.data).toMatchObject({ account: account.id, threshold: '0.9999' })
    expect(isSignedBy(secret, hooked()[0]!)).toBe(true)
    expect(isSignedBy(`whsec_${Buffer.alloc(32).toString('base64')}`, hooked()[0]!)).toBe(false)
    const [mail, ...more] = mailsTo(account.email).filter((each) => /Guthaben/.test(decoded(each)))
    expect(more).toEqual([])
    expect(decoded(mail!)).toContain('Guthaben niedrig')
    expect(mail!.data).toMatch(/^Auto-Submitted: auto-generated\r?$/m)
    const { items } = await owner.call('GET /notices')
    expect(items.map(({ event, read }) => [event, read])).toEqual([['balance.low', false]])
    expect(await owner.call('GET /notices/unread')).toEqual({ unread: 1 })
    expect(await owner.call('POST /notices/read', { body: { ids: [items[0]!.id] } })).toEqual({ unread: 0 })

    await server.operate('wallet.credit', { account: account.id, amount: '1.00', reason: 'top-up', ref: account.id })
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(hooked()).toHaveLength(1)
    await server.operate('wallet.adjust', {
      ...{ account: account.id, amount: '1.50', reason: 'spent', ref: `${account.id} spent`, direction: 'take' },
    })
    await until(() => hooked().length === 2)
  })
})

describe('a cap', () => {
  it('is told at the highest percentage that was reached, once a period, to its person too', async () => {
    const account = await openAccount(server, { credit: '5.00' })
    const owner = await signUp(server, { email: account.email, account: account.id })
    const member = await signUp(server, { email: `mo-${account.email}`, account: account.id, role: 'member' })
    const stranger = await signUp(server, { email: `mi-${account.email}`, account: account.id, role: 'member' })
    const key = await account.createKey({ person: member.email, name: 'capped' })
    await server.operate('people.caps', { person: member.email, requests_day: 5 })
    await owner.call('POST /webhooks', { body: { url: receiver.url, events: ['cap.reached'] } })
    for (let count = 0; count < 4; count++)
      expect((await chat(server, key, { messages: [{ role: 'user', content: 'hi' }] })).status).toBe(200)
    const told = async () => (await member.call('GET /notices')).items.filter(({ event }) => event === 'cap.reached')
    await until(async () => {
      server.advance(200)
      return (await told()).length > 0
    })
    const [{ facts } = { facts: {} }, ...others] = await told()
    expect(others).toEqual([])
    expect(facts).toMatchObject({
      percent: 80,
      holder: 'person',
      name: member.email,
      cap: 'requests_day',
      used: '4',
      limit: '5',
    })
    expect((await owner.call('GET /notices')).items.map(({ event }) => event)).toContain('cap.reached')
    expect((await stranger.call('GET /notices')).items).toEqual([])
    await until(() => mailsTo(member.email).some((mail) => /limit used/.test(decoded(mail))))
    expect(mailsTo(stranger.email).filter((mail) => /limit used/.test(decoded(mail)))).toEqual([])
  })
})

describe('an invitation', () => {
  it('is sent by mail with the link that is shown, sealed until then and limited in number', async () => {
    const account = await openAccount(server)
    const owner = await signUp(server, { email: account.email, account: account.id })
    const email = `new-${account.email}`
    const invited = await owner.call('POST /members/invite', { body: { email, role: 'viewer' } })
    expect(invited.mailed).toBe(true)
    await until(() => mailsTo(email).length === 1)
    expect(decoded(mailsTo(email)[0]!)).toContain(invited.link.replaceAll('&', '&amp;'))
    const stored = await server.app.operations.files.ledger.all('SELECT * FROM notice_deliveries WHERE recipient = ?', [
      email,
    ])
    const code = new URL(invited.link).searchParams.get('code')!
    expect(JSON.stringify(stored)).not.toContain(code)
    const browser = openBrowser(server, email)
    await browser.call('POST /sign-up', { body: { code, password: 'a long password' } })
    const more = []
    for (let count = 0; count < 6; count++)
      more.push(await owner.call('POST /members/invite', { body: { email: `many-${account.email}`, role: 'viewer' } }))
    expect(more.map(({ mailed }) => mailed)).toEqual([true, true, true, true, true, false])
  })

  it('to an address that would end a header or reach others is only shown', async () => {
    const account = await openAccount(server)
    const owner = await signUp(server, { email: account.email, account: account.id })
    for (const email of ['a,b@example.com', 'x<y@example.com', 'a;b@example.com', '"q"@example.com']) {
      const invited = await owner.call('POST /members/invite', { body: { email, role: 'viewer' } })
      expect(invited.mailed, email).toBe(false)
    }
  })
})
