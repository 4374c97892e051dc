import { afterEach, expect, it } from 'vitest'
import { ask, chatRequest, closeTestEdges, connectRaw, openTestEdge } from '../../../test/fixtures/server/edge.ts'
import type { RequestId } from '../../model/ids.ts'

afterEach(closeTestEdges)

const MiB = 1024 * 1024
const request = chatRequest({ headers: ['idempotency-key: once'] })

/** An edge that knows one answer, which is as large as memory between it and its client is not. */
async function openWith(contentType: string, { size = 12 * MiB, keepAliveMs = 15_000 } = {}) {
  const body = Buffer.alloc(size, 'words ')
  let left = 0
  const { port, logs } = await openTestEdge({
    lookUpAnswer: async () => ({
      ...{ kind: 'kept', original: 'req_first' as RequestId, status: 200, contentType, body, headers: {} },
      release: () => void left++,
    }),
    options: { stallMs: 1000, stream: { headDelayMs: keepAliveMs, keepAliveMs } },
  })
  return { port, logs, body, timesLeft: () => left }
}

it.each(['application/json', 'text/event-stream'])(
  'an answer of %s keeps its memory until its client has taken it, or is given up',
  async (contentType) => {
    const { port, logs, timesLeft } = await openWith(contentType)
    const client = connectRaw(port)
    client.socket.pause()
    client.send(request)
    await expect.poll(() => client.socket.bytesRead).toBeGreaterThan(0)
    expect([timesLeft(), logs.length]).toEqual([0, 0])
    await expect.poll(() => [timesLeft(), logs.length], { timeout: 10_000 }).toEqual([1, 1])
    client.socket.destroy()
  },
)

it('a large JSON answer comes whole, under its length', async () => {
  const { port, body, timesLeft } = await openWith('application/json')
  const answer = await ask(port, request)
  expect(answer.headers).toMatchObject({
    ...{ 'content-length': String(body.length), 'content-type': 'application/json' },
    ...{ 'idempotency-replayed': 'true', 'x-original-request-id': 'req_first' },
  })
  expect(Buffer.from(answer.body).equals(body)).toBe(true)
  await expect.poll(timesLeft).toBe(1)
})

it('no comment comes between the pieces of a stream, however long they wait for each other', async () => {
  const { port, body } = await openWith('text/event-stream', { size: MiB / 2, keepAliveMs: 5 })
  const answers = await Promise.all(Array.from({ length: 20 }, () => ask(port, request)))
  for (const answer of answers) expect(answer.body === body.toString()).toBe(true)
})
