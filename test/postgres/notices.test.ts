import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signUp } from '../support/console-session.ts'
import { startMailSink } from '../support/mail-sink.ts'
import { chat, hello } from '../support/send-chat.ts'
import { useDatabaseOf } from '../support/server-on-postgres.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'
import { postgres } from './postgres-ledger.ts'

describe.skipIf(!postgres)('notices of two nodes on one PostgreSQL', () => {
  let nodes: TestServer[] = []
  let sink: Awaited<ReturnType<typeof startMailSink>>
  let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>

  beforeEach(async () => {
    sink = await startMailSink()
    receiver = await startWebhookReceiver()
    const config = `${TEST_CONFIG}
key_ring: { secret_key: the-secret-that-the-nodes-of-a-test-share }
mail: { host: 127.0.0.1, port: ${sink.port}, tls: none, from: millrace@server.example }
notices: { allow_private_webhooks: true }
`
    const first = await startServer({ config })
    nodes = [first, await startServer({ config, prepare: (folder) => useDatabaseOf(first.folder, folder) })]
  })
  afterEach(async () => {
    for (const node of nodes.reverse()) await node.close()
    await Promise.all([sink.close(), receiver.close()])
  })

  it('are told and sent once each, while both serve the account', async () => {
    const [one, other] = nodes as [TestServer, TestServer]
    const accounts = []
    for (let count = 0; count < 6; count++) {
      const account = await openAccount(one, { credit: '1.00' })
      await signUp(one, { email: account.email, account: account.id })
      await one.operate('webhooks.add', { account: account.id, url: receiver.url, events: ['balance.low'] })
      await other.operate('notices.settings', { account: account.id, low_balance: '0.9999' })
      accounts.push(account)
    }
    await Promise.all(
      accounts.flatMap((account) =>
        [one, other, one, other].map((node) => chat(node, account, { messages: hello('count to 90') })),
      ),
    )
    await until(() => receiver.received.length >= accounts.length && mails().length >= accounts.length)
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const told = receiver.received.map(({ body }) => body.data.account)
    expect(told.toSorted()).toEqual(accounts.map(({ id }) => id).toSorted())
    expect(
      mails()
        .flatMap(({ to }) => to)
        .toSorted(),
    ).toEqual(accounts.map(({ email }) => email).toSorted())
  })

  const mails = () => sink.mails.filter(({ data }) => /balance/i.test(data))
})
