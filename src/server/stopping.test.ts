import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import {
  ask,
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  openTestEdge,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'
import { LINGER } from './services.ts'

afterEach(closeTestEdges)

describe('a server that stops', () => {
  it('does not wait for a connection on which nothing has come', async () => {
    const { edge, port } = await openTestEdge()
    const silent = connectRaw(port)
    await once(silent.socket, 'connect')
    expect((await ask(port, getRequest('/healthz'))).status).toBe(200)
    await edge.stopAccepting()
    expect(await silent.closed()).toBe('')
  })

  it('still answers a client that has just connected', async () => {
    const { edge, port } = await openTestEdge()
    const client = connectRaw(port)
    await once(client.socket, 'connect')
    expect((await ask(port, getRequest('/healthz'))).status).toBe(200)
    const stopped = edge.stopAccepting()
    client.send(getRequest('/v1/models'))
    expectProblem(await client.answer(), 'server_draining')
    await stopped
  })

  it.each([
    ['head', 'GET /v1 HTTP/1.1\r\nhos'],
    ['body', chatRequest({ headers: ['content-length: 200'] })],
  ])('waits for the rest of a %s no longer than at other times', async (_part, begun) => {
    const { edge, port } = await openTestEdge({
      options: { headersTimeoutMs: 200, requestTimeoutMs: 400, linger: { ...LINGER, timeMs: 50 } },
    })
    const client = connectRaw(port)
    client.send(begun)
    expect((await ask(port, getRequest('/healthz'))).status).toBe(200)
    const stopped = edge.stopAccepting()
    expectProblem(await client.answer(), 'request_timeout')
    await stopped
  })
})
