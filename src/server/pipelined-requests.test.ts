import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import {
  ANSWER_BYTES,
  ask,
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  openTestEdge,
  type TestServices,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'
import { until } from '../../test/support/until.ts'

afterEach(closeTestEdges)

const MiB = 1024 * 1024

/** Stored responses of so many bytes. */
function storageOf(bytes: number) {
  const looked: boolean[] = []
  const responses: TestServices['responses'] = {
    async findWithin({ take }) {
      const isTaken = take(bytes)
      looked.push(isTaken)
      return isTaken ? { status: 'completed', body: Buffer.alloc(bytes, ' ') } : 'no-memory'
    },
    events: async () => ({ kind: 'not-found' }),
    remove: async () => false,
    cancel: async () => 'not-found',
  }
  return { looked, responses }
}

const lookUp = getRequest('/v1/responses/resp_a')

/** A client that reads nothing until it is resumed, and looks at nothing of what it reads. */
function connectReader(port: number, ...requests: readonly Buffer[]) {
  const socket = connect({ port, host: '127.0.0.1' })
    .on('error', () => {})
    .pause()
  socket.write(Buffer.concat(requests))
  return socket
}

describe('pipelined requests', () => {
  it('are begun four at a time while their client reads nothing, and then answered in their order', async () => {
    const { looked, responses } = storageOf(8 * MiB)
    const { port } = await openTestEdge({ responses })
    const client = connectReader(port, ...Array.from({ length: 8 }, () => lookUp))
    await until(() => looked.length === 4)
    await sleep(50)
    expect(looked).toEqual([true, true, true, true])
    client.resume()
    await until(() => looked.length === 8)
    expect(looked.every(Boolean)).toBe(true)
  })

  it('are not begun once their connection has closed', async () => {
    const { looked, responses } = storageOf(8 * MiB)
    const { port } = await openTestEdge({ responses })
    const client = connectReader(port, ...Array.from({ length: 8 }, () => lookUp))
    await until(() => looked.length === 4)
    client.destroy()
    await sleep(50)
    expect(looked).toHaveLength(4)
  })

  it('close the connection when more of them wait than anyone sends', async () => {
    const { responses } = storageOf(8 * MiB)
    const { port } = await openTestEdge({ responses })
    const client = connectRaw(port)
    client.send(Buffer.concat([lookUp, ...Array.from({ length: 300 }, () => getRequest('/healthz'))]))
    await client.closed()
  })

  it('are ignored behind an answer that closes the connection', async () => {
    const { looked, responses } = storageOf(8 * MiB)
    const { edge, port } = await openTestEdge({ responses })
    const client = connectReader(port, ...Array.from({ length: 8 }, () => lookUp))
    await until(() => looked.length === 4)
    edge.announceDrain()
    client.resume()
    await new Promise((resolve) => client.once('close', resolve))
    // The answer of the fifth one says so.
    expect(looked).toHaveLength(5)
  })

  it('are refused when their body has broken while they waited', async () => {
    const { responses } = storageOf(100)
    const { port, bodies } = await openTestEdge({ responses })
    const client = connectRaw(port)
    const broken = chatRequest({ headers: ['transfer-encoding: chunked'], body: '2\r\n{}\r\nno chunk\r\n' })
    client.send(Buffer.concat([lookUp, lookUp, lookUp, lookUp, broken]))
    for (let answers = 0; answers < 4; answers++) expect((await client.answer()).status).toBe(200)
    expectProblem(await client.answer(), 'malformed_request')
    expect(await client.closed()).toBe('')
    expect(bodies).toEqual([])
  })
})

describe('the memory of stored responses that are sent', () => {
  it('is taken until their clients have them or disconnect, and what exceeds the share of an account waits', async () => {
    const { looked, responses } = storageOf(ANSWER_BYTES / 8)
    const { port } = await openTestEdge({ responses })
    const readers = Array.from({ length: 4 }, () => connectReader(port, lookUp))
    await until(() => looked.length === 4)
    const refused = await ask(port, lookUp)
    expectProblem(refused, 'server_is_overloaded', /try again in 1s/)
    expect(refused.headers['retry-after']).toBe('1')
    // What has been sent whole is free again, and so is what no client will read.
    readers[0]?.resume()
    await until(async () => (await ask(port, lookUp)).status === 200)
    readers[1]?.destroy()
    readers.push(connectReader(port, lookUp))
    await until(async () => (await ask(port, lookUp)).status === 200)
  })
})
