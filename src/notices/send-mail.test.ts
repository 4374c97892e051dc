import { expect, it, onTestFinished } from 'vitest'
import { createCertificate } from '../../test/fixtures/providers/certificate.ts'
import { decoded, startMailSink } from '../../test/support/mail-sink.ts'
import { Secret } from '../lib/secret.ts'
import { createMailer, isMailAddress, type MailConfig } from './send-mail.ts'
import { mailOfNotice, renderMail, TEST_MAIL } from './texts.ts'

const configOf = (port: number, change: Partial<MailConfig> = {}): MailConfig => ({
  ...{ host: 'localhost', port, tls: 'none', user: undefined, password: undefined, replyTo: undefined },
  ...{ from: 'Millrace <millrace@server.example>', ...change },
})

async function sinkWith(options: Parameters<typeof startMailSink>[0] = {}) {
  const sink = await startMailSink(options)
  onTestFinished(() => sink.close())
  return sink
}

const mail = { id: 'msg_1', to: 'ann@example.com', text: TEST_MAIL }

it('hands a mail over after STARTTLS, and sends no password and no mail without it', async () => {
  const tls = createCertificate('localhost')
  const secured = await sinkWith({ tls })
  const account = { tls: 'starttls', user: 'millrace', password: new Secret('a password of mail') } as const
  const send = createMailer(configOf(secured.port, account), { ca: tls.cert })
  expect(await send(mail)).toMatchObject({ kind: 'sent', answer: expect.stringContaining('kept') })
  expect(secured.mails).toMatchObject([{ to: ['ann@example.com'], from: 'millrace@server.example', isEncrypted: true }])
  expect(secured.mails[0]!.data).toMatch(/^Message-ID: <msg_1@server\.example>/m)
  const plain = await sinkWith()
  expect(await createMailer(configOf(plain.port, account))(mail)).toMatchObject({ kind: 'failed' })
  expect(plain.mails).toEqual([])
  const distrusted = createMailer(configOf(secured.port, account))
  expect(await distrusted(mail)).toMatchObject({ kind: 'failed' })
  expect(secured.mails).toHaveLength(1)
})

it('tells what is refused for good from what may work later', async () => {
  const refusing = await sinkWith({ refuse: (line) => (line.startsWith('RCPT') ? '550 no such mailbox' : undefined) })
  expect(await createMailer(configOf(refusing.port))(mail)).toMatchObject({ kind: 'refused', status: 550 })
  const locked = await sinkWith({ refuse: (line) => (line.startsWith('AUTH') ? '535 wrong password' : undefined) })
  const account = { user: 'millrace', password: new Secret('a password of mail') }
  const outcome = await createMailer(configOf(locked.port, account))(mail)
  expect(outcome).toMatchObject({ kind: 'failed', status: 535 })
  expect(JSON.stringify(outcome)).not.toContain('a password of mail')
  const busy = await sinkWith({ refuse: (line) => (line.startsWith('MAIL') ? '421 later' : undefined) })
  expect(await createMailer(configOf(busy.port))(mail)).toMatchObject({ kind: 'failed' })
  expect(await createMailer(configOf(1))(mail)).toMatchObject({ kind: 'failed' })
})

it('takes one plain address, and not its own', async () => {
  const sink = await sinkWith()
  const send = createMailer(configOf(sink.port))
  for (const to of [
    'a@b.example, c@d.example',
    'a@b.example\r\nRCPT TO:<c@d.example>',
    '<a@b.example>',
    'a@b.example ',
    '@',
  ]) {
    expect(isMailAddress(to), to).toBe(false)
    expect((await send({ ...mail, to })).kind).toBe('refused')
  }
  expect((await send({ ...mail, to: 'Millrace@server.example' })).kind).toBe('refused')
  expect(sink.mails).toEqual([])
})

it('keeps names of people out of headers and HTML', async () => {
  const sink = await sinkWith()
  const name = 'x\r\nBcc: eve@example.com\r\n\r\n<img src=x>'
  const facts = { key: 'key_1', name, expires_at: '2026-12-01T00:00:00.000Z' }
  const text = mailOfNotice('key.expiring', facts, { language: 'en', consoleUrl: 'https://llm.example/console' })
  await createMailer(configOf(sink.port))({ ...mail, text })
  const [{ data, to } = { data: '', to: [] }] = sink.mails
  expect(to).toEqual(['ann@example.com'])
  expect(data).not.toMatch(/^Bcc:/im)
  expect(renderMail(text).html).toContain('&lt;img src=x&gt;')
  expect(decoded(sink.mails[0]!)).toContain('https://llm.example/console/notices')
})
