import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ended,
  json,
  openStoreBench,
  type StoreBench,
  started,
} from '../../../test/fixtures/db/content/stored-responses.ts'
import {
  ask,
  closeTestEdges,
  connectRaw,
  GOOD_KEY,
  getRequest,
  head,
  openTestEdge,
  type TestEdge,
} from '../../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../../test/fixtures/server/envelope.ts'
import type { AccountId } from '../../model/ids.ts'

/** As whom the edge's own caller asks. */
const MINE = { account: 'acct_1' as AccountId }

let bench: StoreBench
let edge: TestEdge

beforeEach(async () => {
  bench = await openStoreBench()
  edge = await openTestEdge({
    responses: bench.responses,
  })
})
afterEach(async () => {
  await closeTestEdges()
  await bench.close()
})

const get = (target: string) => ask(edge.port, getRequest(`/v1/responses/${target}`))
const remove = (id: string) =>
  ask(
    edge.port,
    head({
      method: 'DELETE',
      target: `/v1/responses/${id}`,
      headers: ['host: x', `authorization: Bearer ${GOOD_KEY}`],
    }),
  )
const frame = (sequence: number, text = '') => `data: {"type":"e","sequence_number":${sequence},"text":"${text}"}\n\n`

describe('GET /v1/responses/{id}', () => {
  it('returns a response with its output, with any `include`', async () => {
    await bench.responses.finish(ended('a', MINE))
    for (const target of ['resp_a', 'resp_a/', 'resp_a?include=x&include[]=y', 'resp_a?stream=false', 'resp%5Fa']) {
      const answer = await get(target)
      expect(answer.status, target).toBe(200)
      expect(answer.headers['content-type']).toBe('application/json')
      expect(JSON.parse(answer.body)).toMatchObject({ id: 'resp_a', status: 'completed', output: [{ id: 'msg_a' }] })
    }
  })

  it('gives a running one as it began', async () => {
    await bench.responses.begin(started('a', MINE))
    expect(JSON.parse((await get('resp_a')).body)).toMatchObject({ status: 'in_progress', output: [] })
  })

  it('knows no other account’s, none that has expired or was deleted, and nothing else', async () => {
    await bench.responses.finish(ended('theirs'))
    await bench.responses.finish(ended('old', { ...MINE, expiresAt: 1500 }))
    await bench.responses.finish(ended('deleted', MINE))
    expect((await remove('resp_deleted')).status).toBe(200)
    bench.time = 1600
    for (const id of ['resp_theirs', 'resp_old', 'resp_deleted', 'resp_none', '%00', '..', 'x'.repeat(4000)]) {
      expectProblem(await get(id), 'response_not_found', /stored response/)
      expectProblem(await get(`${id}?stream=true`), 'response_not_found')
      expectProblem(await remove(id), 'response_not_found')
    }
  })

  it('needs a key', async () => {
    const bare = (method: string) =>
      ask(edge.port, head({ method, target: '/v1/responses/resp_a', headers: ['host: x'] }))
    expectProblem(await bare('GET'), 'missing_api_key')
    expectProblem(await bare('DELETE'), 'missing_api_key')
  })
})

describe('GET /v1/responses/{id}?stream=true', () => {
  const frames = Array.from({ length: 900 }, (_, at) => frame(at, `${at} `.repeat(100)))

  it.each([[undefined], [0], [450], [898], [899], [5000]])('gives the events behind %s, and ends', async (after) => {
    await bench.responses.finish(ended('a', { ...MINE, events: Buffer.from(frames.join('')) }))
    const answer = await get(`resp_a?stream=true${after === undefined ? '' : `&starting_after=${after}`}`)
    expect(answer.headers['content-type']).toMatch(/^text\/event-stream/)
    const client = frames.slice(after === undefined ? 0 : after + 1).join('')
    expect(answer.body === `${client}data: [DONE]\n\n`).toBe(true)
  })

  it.each([
    ['resp_a?stream=true&starting_after=x', 'invalid_value', 'starting_after', /whole number/],
    ['resp_a?stream=true&starting_after=-1', 'invalid_value', 'starting_after', /whole number/],
    ['resp_a?stream=true&starting_after=1e3', 'invalid_value', 'starting_after', /whole number/],
    ['resp_a?stream=true&starting_after=', 'invalid_value', 'starting_after', /whole number/],
    ['resp_a?stream=yes', 'invalid_value', 'stream', /true or false/],
    ['resp_a?stream=true', 'unsupported_value', 'stream', /was not streamed/],
    ['resp_long?stream=true', 'unsupported_value', 'stream', /too many/],
  ] as const)('%s is refused', async (target, code, param, message) => {
    await bench.responses.finish(ended('a', MINE))
    await bench.responses.finish(ended('long', { ...MINE, events: Buffer.alloc(17 * 1024 * 1024) }))
    const answer = await get(target)
    expectProblem(answer, code, message)
    expect(JSON.parse(answer.body).error.param).toBe(param)
  })

  it('that cannot be read is a problem before its head, and breaks off behind it', async () => {
    await bench.responses.finish(ended('a', { ...MINE, events: Buffer.from(frames.join('')) }))
    expect(await bench.count('events')).toBeGreaterThan(1)
    await bench.file.atomic([{ sql: 'UPDATE events SET sealed = zeroblob(90) WHERE event = 2', rows: [[]] }])
    const client = connectRaw(edge.port)
    client.send(getRequest('/v1/responses/resp_a?stream=true'))
    const received = await client.closed()
    expect(received).toMatch(/^HTTP\/1\.1 200 /)
    expect(received).toContain('"sequence_number":0,')
    expect(received).not.toContain('[DONE]')
    await bench.file.atomic([{ sql: 'UPDATE events SET sealed = zeroblob(90) WHERE event = 1', rows: [[]] }])
    expectProblem(await get('resp_a?stream=true'), 'internal_error')
  })
})

it('DELETE /v1/responses/{id} succeeds once, and a chain that was built on it stays usable', async () => {
  await bench.responses.finish(ended('a', MINE))
  await bench.responses.finish(
    ended('b', { ...MINE, parent: 'resp_a', object: json({ id: 'resp_b', status: 'completed' }) }),
  )
  const answer = await remove('resp_a')
  expect([answer.status, JSON.parse(answer.body)]).toEqual([
    200,
    { id: 'resp_a', object: 'response.deleted', deleted: true },
  ])
  expectProblem(await remove('resp_a'), 'response_not_found')
  expect(JSON.parse((await get('resp_b')).body)).toMatchObject({ output: [{ id: 'msg_b' }] })
  const context = await bench.responses.context({ account: MINE.account }, 'resp_b', 1_000_000)
  expect(context.kind === 'found' && context.items.length).toBe(4)
})
