import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { CALLER } from '../../test/fixtures/model/caller.ts'
import {
  ask,
  COMPLETED,
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  later,
  openTestEdge,
  type TestEdge,
  type TestServices,
  type Turns,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'
import type { CallerOutcome } from '../auth/callers.ts'
import { secureRandom } from '../lib/random-id.ts'
import { problem } from '../model/problem.ts'
import { createConcurrencyLimiter, TURN_BYTES } from './concurrency-limiter.ts'
import { LINGER } from './services.ts'

afterEach(closeTestEdges)

const PACKED = gzipSync('{"model":"demo"}')

/** What comes of a body, in each way in which its end can be told. */
const CUT_OFF: readonly [string, readonly string[], string | Buffer][] = [
  ['a length', ['content-length: 200'], '{"model":'],
  ['a length of which nothing came', ['content-length: 200'], ''],
  ['a length that is large', ['content-length: 9000000'], '{"model":'],
  ['chunks', ['transfer-encoding: chunked'], '9\r\n{"model":\r\n'],
  ['chunks, in the middle of one', ['transfer-encoding: chunked'], 'ff\r\n{"model":'],
  ['a length, packed', ['content-length: 200', 'content-encoding: gzip'], PACKED.subarray(0, 15)],
]

describe.each(CUT_OFF)('a client that closes its own half in the middle of a body with %s', (_how, headers, begun) => {
  const request = chatRequest({ headers, body: begun })

  it('gets a problem while its body is read', async () => {
    const opened = await openEdge()
    const client = connectRaw(opened.port)
    client.send(request)
    await untilRead(opened)
    client.socket.end()
    expectProblem(await client.answer(), 'malformed_request')
    await nothingStands(opened)
  })

  it('gets a problem after its key was looked up', async () => {
    const key = later<CallerOutcome>()
    const opened = await openEdge({ findCaller: () => key.comes })
    const client = connectRaw(opened.port)
    client.socket.end(request)
    await untilRead(opened)
    key.come({ kind: 'caller', caller: CALLER })
    expectProblem(await client.answer(), 'malformed_request')
    await nothingStands(opened)
  })

  it('hears what is wrong with its key, looked up meanwhile', async () => {
    const key = later<CallerOutcome>()
    const opened = await openEdge({ findCaller: () => key.comes })
    const client = connectRaw(opened.port)
    client.socket.end(request)
    await untilRead(opened)
    key.come({ kind: 'refused', reason: 'unknown' })
    expectProblem(await client.answer(), 'invalid_api_key')
    await nothingStands(opened)
  })

  it('gets the refusal of its key, which comes first', async () => {
    const opened = await openEdge({ findCaller: () => ({ kind: 'refused', reason: 'unknown' }) })
    const client = connectRaw(opened.port)
    client.send(request)
    expectProblem(await client.answer(), 'invalid_api_key')
    client.socket.end()
    await nothingStands(opened)
  })

  it('gets a problem while it waits for a slot, and stops waiting', async () => {
    const place = later<void>()
    const limiter = guardWithOnePlace()
    const opened = await openEdge({ limiter, serveTurn: answerAfter(place.comes) })
    const first = connectRaw(opened.port)
    first.send(chatRequest())
    await untilRead(opened)
    const client = connectRaw(opened.port)
    client.send(request)
    await untilRead(opened)
    expect(limiter.figures).toMatchObject({ running: 1, waiting: 1 })
    client.socket.end()
    expectProblem(await client.answer(), 'malformed_request')
    expect(limiter.figures.waiting).toBe(0)
    place.come()
    expect((await first.answer()).status).toBe(200)
    await nothingStands(opened)
  })

  it('gets a problem when it was cut off before it waited for a slot', async () => {
    const place = later<void>()
    const key = later<CallerOutcome>()
    let asked = 0
    const opened = await openEdge({
      limiter: guardWithOnePlace(),
      serveTurn: answerAfter(place.comes),
      findCaller: () => (asked++ === 0 ? { kind: 'caller', caller: CALLER } : key.comes),
    })
    const first = connectRaw(opened.port)
    first.send(chatRequest())
    await untilRead(opened)
    const client = connectRaw(opened.port)
    client.socket.end(request)
    await untilRead(opened)
    key.come({ kind: 'caller', caller: CALLER })
    await untilRead(opened)
    place.come()
    expectProblem(await client.answer(), 'malformed_request')
    await nothingStands(opened)
  })

  it('is abandoned when it disconnected before it waited for a slot', async () => {
    const place = later<void>()
    const wallet = later<undefined>()
    const limiter = guardWithOnePlace()
    let asked = 0
    const opened = await openEdge({
      limiter,
      serveTurn: answerAfter(place.comes),
      refuseEarly: () => (asked++ === 0 ? undefined : wallet.comes),
    })
    const first = connectRaw(opened.port)
    first.send(chatRequest())
    await untilRead(opened)
    const client = connectRaw(opened.port)
    client.send(request)
    await untilRead(opened)
    client.socket.resetAndDestroy()
    await untilRead(opened)
    wallet.come(undefined)
    await untilRead(opened)
    expect([limiter.figures.waiting, opened.logs.at(-3)]).toMatchObject([0, { outcome: 'client_gone' }])
    place.come()
    expect((await first.answer()).status).toBe(200)
    await nothingStands(opened)
  })

  it('is abandoned when the loop was late', async () => {
    const limiter = guardWithOnePlace()
    const opened = await openEdge({ limiter, loop: { isLate: true } })
    const client = connectRaw(opened.port)
    client.socket.end(request)
    await client.closed()
    await nothingStands(opened)
    expect(limiter.figures.running).toBe(0)
  })
})

describe('a body that is cut off', () => {
  it('within its head gets a problem', async () => {
    const opened = await openEdge()
    const client = connectRaw(opened.port)
    client.socket.end(chatRequest().subarray(0, 40))
    expectProblem(await client.answer(), 'malformed_request')
    await nothingStands(opened)
  })

  it('behind a complete compressed part holds no connection, while its idempotency key is looked up', async () => {
    const found = later<Awaited<ReturnType<Turns['lookUpAnswer']>>>()
    const asked = later<void>()
    const lookUpAnswer: Turns['lookUpAnswer'] = () => {
      asked.come()
      return found.comes
    }
    const opened = await openEdge({ lookUpAnswer })
    const client = connectRaw(opened.port)
    const headers = ['idempotency-key: one', 'content-length: 200', 'content-encoding: gzip']
    // To a zero behind it the decoder does not listen any more: for it, the body has ended.
    client.send(chatRequest({ headers, body: Buffer.concat([PACKED, Buffer.alloc(1)]) }))
    await asked.comes
    client.socket.end()
    await untilRead(opened)
    found.come({ kind: 'refused', problem: problem('idempotency_in_progress', 'Wait.'), release() {} })
    expectProblem(await client.answer(), 'idempotency_in_progress')
    await nothingStands(opened)
  })

  it('of a client that waits for 100 Continue holds no connection', async () => {
    const opened = await openEdge()
    const client = connectRaw(opened.port)
    client.send(chatRequest({ headers: ['expect: 100-continue', 'content-length: 200'], body: '' }))
    expect((await client.answer()).status).toBe(100)
    client.socket.end()
    expectProblem(await client.answer(), 'malformed_request')
    await nothingStands(opened)
  })
})

describe('of two requests in one write, a second one that is read while the first waits,', () => {
  /** The first waits for its key until the second is being read, and is then read itself. */
  async function openWithTwo(options: TestServices['options'] = {}) {
    const key = later<CallerOutcome>()
    let asked = 0
    const opened = await openEdge({
      findCaller: () => (asked++ === 0 ? key.comes : { kind: 'caller', caller: CALLER }),
      options,
    })
    const client = connectRaw(opened.port)
    client.send(Buffer.concat([chatRequest(), chatRequest({ headers: ['content-length: 200'], body: '{"model":' })]))
    await untilRead(opened)
    key.come({ kind: 'caller', caller: CALLER })
    expect((await client.answer()).status).toBe(200)
    return { opened, client }
  }

  it('gets a problem that it was cut off', async () => {
    const { opened, client } = await openWithTwo()
    client.socket.end()
    expectProblem(await client.answer(), 'malformed_request')
    await nothingStands(opened)
  })

  it('gets request_timeout', async () => {
    const { opened, client } = await openWithTwo({ headersTimeoutMs: 200, requestTimeoutMs: 400, linger: LINGER })
    expectProblem(await client.answer(), 'request_timeout')
    await nothingStands(opened)
  })
})

/** Who has closed its own half is not waited for: that would be longer here than any test. */
const openEdge = ({ options, ...app }: TestServices = {}) =>
  openTestEdge({ ...app, options: { linger: { ...LINGER, timeMs: 3_600_000 }, ...options } })

/** What was sent before has been read, its end too, when other connections have been answered, one after the other. */
async function untilRead({ port }: TestEdge): Promise<void> {
  for (let times = 0; times < 2; times++) expect((await ask(port, getRequest('/healthz'))).status).toBe(200)
}

/** Resolves only when no connection is left. */
const nothingStands = ({ edge }: TestEdge): Promise<void> => edge.stopAccepting()

const guardWithOnePlace = () =>
  createConcurrencyLimiter({
    rules: { current: { load: { memoryBytes: 2 * TURN_BYTES - 1, queueLength: 8, queueMs: 60_000 } } },
    loop: { isStrained: false },
    random: secureRandom,
    onShed: () => {},
  })

const answerAfter =
  (comes: Promise<void>): Turns['serveTurn'] =>
  async ({ sink }) => {
    await comes
    sink.end(Buffer.from('{}'))
    return COMPLETED
  }
