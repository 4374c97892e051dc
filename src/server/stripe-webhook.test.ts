import { afterEach, expect, it } from 'vitest'
import { closeTestEdges, connectRaw, head, openTestEdge, type TestServices } from '../../test/fixtures/server/edge.ts'
import { until } from '../../test/support/until.ts'
import type { OwnerServices } from '../admin/services.ts'

afterEach(closeTestEdges)

const MiB = 1024 * 1024

const takesDeliveries = {
  clock: { now: () => Date.now() },
  people: { audit: {} },
  payments: { provider: { verifyEvent: async () => ({ kind: 'refused', message: 'The signature does not match.' }) } },
} as unknown as OwnerServices

const openHook = (services: TestServices = {}) => openTestEdge({ admin: takesDeliveries, ...services })

const headOf = (bytes: number, ...headers: readonly string[]) =>
  head({
    method: 'POST',
    target: '/stripe/webhook',
    headers: ['host: test', 'content-type: application/json', `content-length: ${bytes}`, ...headers],
  })

const signedAt = (seconds: number) => `stripe-signature: t=${seconds},v1=${'a'.repeat(64)}`
const current = () => Math.floor(Date.now() / 1000)

it('a delivery whose head has no current signature is refused before its body is read', async () => {
  const { port } = await openHook()
  const wrong = [
    undefined,
    'stripe-signature: t=1,v1=aa',
    signedAt(current() - 310),
    `stripe-signature: t=${current()}`,
  ]
  for (const header of wrong) {
    const client = connectRaw(port)
    client.send(headOf(MiB, ...(header === undefined ? [] : [header])))
    expect((await client.answer()).status).toBe(400)
    client.socket.destroy()
  }
})

it('a signature that does not match counts for the limit of its address', async () => {
  let left = 1
  const taken = { kind: 'taken' } as const
  const refused = { kind: 'refused', perMinute: 1, waitMs: 5000 } as const
  const { port } = await openHook({ unauthenticatedLimiter: { take: () => (left-- > 0 ? taken : refused) } })
  const client = connectRaw(port)
  for (const status of [400, 429]) {
    client.send(Buffer.concat([headOf(2, signedAt(current())), Buffer.from('{}')]))
    expect((await client.answer()).status).toBe(status)
  }
})

it('all deliveries together hold 16 MiB, and give them back when their connections close', async () => {
  const { port } = await openHook()
  const send = () => {
    const client = connectRaw(port)
    client.send(Buffer.concat([headOf(MiB, signedAt(current())), Buffer.alloc(MiB - 1, ' ')]))
    return client
  }
  const clients = Array.from({ length: 20 }, send)
  await until(() => clients.filter((client) => client.received().startsWith('HTTP/1.1 503')).length >= 3)
  for (const client of clients) client.socket.destroy()
  await until(async () => {
    const client = send()
    client.send(' ')
    const { status } = await client.answer()
    return status === 400
  })
})
