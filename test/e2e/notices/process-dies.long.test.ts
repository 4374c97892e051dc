import { expect, it } from 'vitest'
import { type SpawnedServer, spawnServer } from '../../support/spawn-server.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { isSignedBy, startWebhookReceiver } from '../../support/webhook-receiver.ts'

it('a message whose sender dies before it knows the answer is sent again with the same id', async () => {
  let server: SpawnedServer | undefined
  const receiver = await startWebhookReceiver(async (_, count) => {
    if (count > 1) return 204
    // It has arrived, and the process that sent it does not learn that.
    server!.kill('SIGKILL')
    await server!.ended
    return 204
  })
  server = await spawnServer({ config: `${TEST_CONFIG}\nnotices: { allow_private_webhooks: true }\n` })
  try {
    const { webhook, secret } = (await server.json('webhooks', 'add', receiver.url, '--events', 'lane.down')) as {
      webhook: { id: string }
      secret: string
    }
    await server.json('webhooks', 'test', webhook.id)
    await server.ended
    expect(receiver.received).toHaveLength(1)
    await server.restart()
    await until(() => receiver.received.length === 2)
    expect(receiver.received[1]!.id).toBe(receiver.received[0]!.id)
    for (const each of receiver.received) expect(isSignedBy(secret, each)).toBe(true)
    const deliveries = async () =>
      (await server!.json('webhooks', 'deliveries', webhook.id)) as { items: { state: string; attempts: number }[] }
    await until(async () => (await deliveries()).items[0]!.state === 'sent')
    expect((await deliveries()).items).toMatchObject([{ state: 'sent', attempts: 2 }])
    expect(server.output()).not.toContain(secret)
  } finally {
    await server.close()
    await receiver.close()
  }
})
