import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import {
  ask,
  COMPLETED,
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  openTestEdge,
  type RawClient,
  rulesWith,
  type TestServices,
  type Turns,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'

afterEach(closeTestEdges)

/** More than the kernel keeps for a client that reads nothing. */
const LARGE = 'x'.repeat(20 * 1024 * 1024)
const LARGE_JSON = Buffer.from(JSON.stringify({ answer: LARGE }))

const answerWithLarge: Turns['serveTurn'] = async ({ sink }) => {
  sink.end(LARGE_JSON)
  return COMPLETED
}

/** Nothing is read of what comes from here on. */
function standStill(client: RawClient): RawClient {
  client.socket.removeAllListeners('data').pause()
  return client
}

it.each<[string, Buffer, TestServices]>([
  ['an answer in one piece', chatRequest(), { serveTurn: answerWithLarge }],
  ['a list', getRequest('/v1/models'), { rules: rulesWith(modelDefinition('demo', { description: LARGE })) }],
  [
    'a receipt',
    getRequest('/v1/requests/req_00000000000000000000000000'),
    { findReceipt: async () => ({ id: LARGE }) },
  ],
])('a client that takes nothing of %s loses its connection', async (_what, request, app) => {
  const { edge, port } = await openTestEdge({ ...app, options: { stallMs: 200 } })
  const client = standStill(connectRaw(port))
  client.send(request)
  expect((await ask(port, getRequest('/healthz'))).status).toBe(200)
  // Resolves only when no connection is left.
  await edge.stopAccepting()
  client.socket.destroy()
})

it('a client that reads slowly gets all of it, however long that takes', async () => {
  const { port } = await openTestEdge({ serveTurn: answerWithLarge, options: { stallMs: 1000 } })
  const client = connectRaw(port)
  const { socket } = client
  let taken = 0
  let pauses = 0
  const whole = new Promise<void>((resolve) => {
    socket.removeAllListeners('data').on('data', (chunk: Buffer) => {
      taken += chunk.length
      if (taken > LARGE_JSON.length) resolve()
      if (pauses >= 8 || taken < pauses * 2 * 1024 * 1024) return
      pauses += 1
      socket.pause()
      setTimeout(() => socket.resume(), 300)
    })
  })
  client.send(chatRequest())
  await whole
  expect(pauses).toBe(8)
  socket.destroy()
})

it('an answer that is thought about for longer than a client may take nothing comes all the same', async () => {
  const { port } = await openTestEdge({
    async serveTurn({ sink }) {
      await sleep(400)
      sink.end(Buffer.from('{"answer":"hello"}'))
      return COMPLETED
    },
    options: { stallMs: 100 },
  })
  expect((await ask(port, chatRequest())).body).toBe('{"answer":"hello"}')
})

it('a client without a request gets request_timeout when its headers take too long', async () => {
  const { port } = await openTestEdge({ options: { stallMs: 50, headersTimeoutMs: 300 } })
  expectProblem(await connectRaw(port).answer(), 'request_timeout')
})

it.each([0, 1, 300])('an idle connection is closed when it has been kept for %i ms', async (keepAliveTimeoutMs) => {
  const { edge, port } = await openTestEdge({ options: { keepAliveTimeoutMs } })
  const client = connectRaw(port)
  client.send(getRequest('/healthz'))
  expect((await client.answer()).status).toBe(200)
  expect(await client.closed()).toBe('')
  await edge.stopAccepting()
})
