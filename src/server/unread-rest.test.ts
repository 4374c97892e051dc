import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import {
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  openTestEdge,
  type RawClient,
} from '../../test/fixtures/server/edge.ts'
import { problem } from '../model/problem.ts'

afterEach(closeTestEdges)

const KiB = 1024

/** More bytes than an unread request buffers, in several reads of its socket. */
async function sendSlowly(client: RawClient, rest: Buffer): Promise<void> {
  for (let at = 0; at < rest.length; at += 16 * KiB) {
    client.send(rest.subarray(at, at + 16 * KiB))
    await sleep(10)
  }
}

describe('an unread rest of a body does not block the next request', () => {
  it('where there was no memory left in the middle of it', async () => {
    const { port } = await openTestEdge({
      limiter: {
        acquire: () => ({
          kind: 'acquired',
          slot: {
            take: () => problem('server_is_overloaded', 'No memory is left.'),
            beginBody: () => undefined,
            endBody() {},
            keep: () => undefined,
            release() {},
          },
        }),
        onConnectionDropped() {},
        figures: { running: 0, bytesTaken: 0, bytesMax: 0, waiting: 0 },
      },
    })
    const client = connectRaw(port)
    const request = chatRequest({ body: Buffer.alloc(60 * KiB, ' ') })
    client.send(request.subarray(0, 4 * KiB))
    const refused = await client.answer()
    expect([refused.status, refused.headers.connection]).toEqual([503, 'keep-alive'])
    await sendSlowly(client, request.subarray(4 * KiB))
    client.send(getRequest('/healthz'))
    expect((await client.answer()).status).toBe(200)
  })

  it('where it stands behind the packed part', async () => {
    const { port, bodies } = await openTestEdge()
    const client = connectRaw(port)
    const body = Buffer.concat([gzipSync('{"stream":true}'), Buffer.alloc(300 * KiB)])
    await sendSlowly(client, chatRequest({ headers: ['content-encoding: gzip'], body }))
    const answer = await client.answer()
    expect([answer.status, answer.headers.connection, bodies.length]).toEqual([200, 'keep-alive', 1])
    client.send(getRequest('/healthz'))
    expect((await client.answer()).status).toBe(200)
  })
})
