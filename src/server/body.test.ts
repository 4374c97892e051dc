import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { delivered } from '../../test/fakes/delivered.ts'
import {
  ask,
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  openTestEdge,
  TEST_OPTIONS,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'
import type { ConcurrencyLimiter } from './concurrency-limiter.ts'

afterEach(closeTestEdges)

const MiB = 1024 * 1024

/** Room for everybody, counted: what was inflated, but for the piece that was too much. */
function countingGuard(): { limiter: ConcurrencyLimiter; taken(): number } {
  let bytes = 0
  const take = (more: number) => {
    bytes += more
    return undefined
  }
  const beginBody = () => undefined
  const figures = { running: 0, bytesTaken: 0, bytesMax: 0, waiting: 0 }
  const acquire = () =>
    ({ kind: 'acquired', slot: { take, beginBody, endBody() {}, keep: () => undefined, release() {} } }) as const
  return { limiter: { acquire, onConnectionDropped() {}, figures }, taken: () => bytes }
}

const withBody = (body: string | Buffer, ...headers: string[]) => chatRequest({ body, headers })

describe('the declared type and coding of a body', () => {
  it.each([
    ['application/json'],
    ['Application/JSON; charset=utf-8'],
    ['application/json;charset="UTF-8"'],
    ['application/json; profile=x'],
  ])('takes %s', async (type) => {
    const { port } = await openTestEdge()
    expect((await ask(port, withBody('{}', `content-type: ${type}`))).status).toBe(200)
  })

  it.each([['text/plain'], ['application/jsonx'], ['application/json; charset=latin1'], ['multipart/form-data'], ['']])(
    'refuses %j with 415',
    async (type) => {
      const { port } = await openTestEdge()
      expectProblem(await ask(port, withBody('{}', `content-type: ${type}`)), 'unsupported_media_type')
    },
  )

  it.each([
    ['gzip', gzipSync],
    ['GZIP', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
    ['identity', Buffer.from],
  ])('reads %s', async (coding, compress) => {
    const { port, bodies } = await openTestEdge()
    const text = JSON.stringify({ model: 'demo', content: 'wort '.repeat(20_000) })
    const compressed = compress(Buffer.from(text))
    expect((await ask(port, withBody(compressed, `content-encoding: ${coding}`))).status).toBe(200)
    expect(bodies[0]!.bytes.toString()).toBe(text)
    expect(bodies[0]!.value.content).toHaveLength(100_000)
    expect(bodies[0]!.members.map((member) => member.name)).toEqual(['model', 'content'])
  })

  it.each([['gzip, gzip'], ['compress'], ['aws-chunked']])('refuses the coding %s with 415', async (coding) => {
    const { port } = await openTestEdge()
    expectProblem(
      await ask(port, withBody('{}', `content-encoding: ${coding}`)),
      'unsupported_media_type',
      /gzip, deflate, br/,
    )
  })

  it('refuses bytes that are not what they say they are', async () => {
    const { port } = await openTestEdge()
    expectProblem(await ask(port, withBody('{"a":1}', 'content-encoding: gzip')), 'invalid_json', /decompressed/)
    const half = gzipSync('{"a":1}').subarray(0, 15)
    expectProblem(await ask(port, withBody(half, 'content-encoding: gzip')), 'invalid_json', /decompressed/)
  })
})

describe('what a body holds', () => {
  it.each([
    ['', /empty/],
    ['[]', /begin with \{/],
    ['"x"', /begin with \{/],
    ['{"a":1,}', /line 1, column 8 found '}', expected a name/],
    ['{"a":1\n"ä":2, b}', /line 2, column 1 found '"', expected ',' or '}'/],
    ['{"ä": x}', /line 1, column 7 found 'x', expected a value/],
    ['{"a":"b', /the body ends/],
    ['{}garbage', /expected the end of the body/],
  ])('%j is invalid_json, and the message says where', async (body, message) => {
    const { port } = await openTestEdge()
    expectProblem(await ask(port, withBody(body)), 'invalid_json', message)
  })

  it('bytes that are not UTF-8 are invalid_json', async () => {
    const { port } = await openTestEdge()
    const cut = Buffer.from('{"a":"ä"}')
    for (const body of [
      Buffer.from('{"a":"\xff"}', 'latin1'),
      Buffer.concat([cut.subarray(0, 7), Buffer.from('"}')]),
    ]) {
      expectProblem(await ask(port, withBody(body)), 'invalid_json', /UTF-8/)
    }
  })

  it('depth and number of values are bounded, exactly', async () => {
    const body = { ...TEST_OPTIONS.body, valuesMax: 100 }
    const { port } = await openTestEdge({ options: { body } })
    const nested = (depth: number) => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
    const listed = (values: number) =>
      `{"a":[${Array(values - 2)
        .fill('1')
        .join(',')}]}`
    expect((await ask(port, withBody(nested(64)))).status).toBe(200)
    expectProblem(await ask(port, withBody(nested(65))), 'request_too_large', /64 levels/)
    expect((await ask(port, withBody(listed(100)))).status).toBe(200)
    expectProblem(await ask(port, withBody(listed(101))), 'request_too_large', /100 values are allowed/)
  })

  it('reads a body that comes in chunks and in single bytes', async () => {
    const { port, bodies } = await openTestEdge()
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['transfer-encoding: chunked'], body: '' }))
    for (const byte of Buffer.from('5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n')) {
      client.send(Buffer.from([byte]))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    expect((await client.answer()).status).toBe(200)
    expect(bodies[0]!.value).toEqual({ a: 1 })
  })
})

describe('bodies that are too large', () => {
  it('100 MB are refused by their length alone, and the client can still read that', async () => {
    const { port } = await openTestEdge({ options: { linger: { ...TEST_OPTIONS.linger, timeMs: 200 } } })
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['content-length: 100000000'] }))
    const answer = await client.answer()
    expectProblem(answer, 'request_too_large')
    expect(answer.headers.connection).toBe('close')
    for (let sent = 0; sent < 8; sent += 1) client.send(Buffer.alloc(MiB, 0x20))
    client.socket.end()
    expect(await client.closed()).toBe('')
  })

  it('chunks without end are refused where the bound is, and the answer arrives although the client sends on', async () => {
    const body = { ...TEST_OPTIONS.body, bytesMax: MiB }
    const { port } = await openTestEdge({ options: { body } })
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['transfer-encoding: chunked'], body: '' }))
    for (let sent = 0; sent < 6; sent += 1)
      client.send(Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(MiB, 0x20), Buffer.from('\r\n')]))
    expectProblem(await client.answer(), 'request_too_large')
  })

  const bombs: readonly (readonly [string, string, Buffer])[] = (() => {
    const empties = Buffer.from(`{"a":[${'[],'.repeat((32 * MiB) / 3)}[]]}`)
    const nested = Buffer.alloc(32 * MiB, '[')
    return [
      ['32 MiB of [], in gzip', 'gzip', gzipSync(empties, { level: 9 })],
      [
        '32 MiB of [], in brotli',
        'br',
        brotliCompressSync(empties, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
      ],
      ['32 MiB of [ in deflate', 'deflate', deflateSync(nested)],
      ['32 MiB of [], in gzip, twice over', 'gzip', Buffer.concat([gzipSync(empties), gzipSync(empties)])],
    ]
  })()

  it.each(bombs)('%s is refused after little of it was inflated', async (_name, coding, bomb) => {
    const { limiter, taken } = countingGuard()
    const { port, bodies } = await openTestEdge({ limiter })
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const answer = await ask(port, withBody(bomb, `content-encoding: ${coding}`))
    delay.disable()
    process.stdout.write(
      `${bomb.length} bytes of ${coding}: ${taken()} inflated, event loop at most ${(delay.max / 1e6).toFixed(1)} ms\n`,
    )
    expect(taken()).toBeGreaterThan(MiB / 2)
    expect(taken()).toBeLessThanOrEqual(Math.max(MiB, bomb.length * 100))
    expectProblem(answer, 'request_too_large', /times its compressed size/)
    expect(bodies).toEqual([])
  })

  it.each([
    ['4 MiB of [],', `{"a":[${'[],'.repeat((4 * MiB) / 3)}[]]}`, 'request_too_large'],
    ['4 MiB of [], without an object', '[],'.repeat((4 * MiB) / 3), 'invalid_json'],
    ['a depth of 100,000', `{"a":${'['.repeat(100_000)}`, 'request_too_large'],
  ] as const)('%s, as they are, never reach JSON.parse', async (_name, body, code) => {
    const { port } = await openTestEdge()
    const request = withBody(body)
    const delay = monitorEventLoopDelay({ resolution: 1 })
    await new Promise((resolve) => setTimeout(resolve, 10))
    delay.enable()
    const answer = await ask(port, request)
    delay.disable()
    process.stdout.write(`${body.length} bytes: event loop at most ${(delay.max / 1e6).toFixed(1)} ms\n`)
    expectProblem(answer, code)
  })

  it.each([
    ['600,000 numbers and a wrong end', () => `{"a":[${'1,'.repeat(600_000)}]}`],
    ['a string of 3 MiB without an end', () => `{"a":"${'x'.repeat(3 * MiB)}`],
    ['a string of 3 MiB and a wrong end', () => `{"a":"${'x'.repeat(3 * MiB)}",}`],
    ['3 MiB of lines and a wrong end', () => `{"a":1${'\n'.repeat(3 * MiB)}x}`],
    ['a number of 3 MiB and a wrong end', () => `{"a":${'1'.repeat(3 * MiB)}x}`],
    ['an escape that is cut by the search', () => `{"a":"${'x'.repeat(MiB - 9)}\\u00e9",}`],
  ])('%s is refused without looking for the place', async (name, build) => {
    const { port } = await openTestEdge()
    const request = withBody(build())
    const delay = monitorEventLoopDelay({ resolution: 1 })
    await new Promise((resolve) => setTimeout(resolve, 10))
    delay.enable()
    const answer = await ask(port, request)
    delay.disable()
    process.stdout.write(`${name}: event loop at most ${(delay.max / 1e6).toFixed(1)} ms\n`)
    expectProblem(answer, 'invalid_json', /after its first 1048576 bytes/)
  })
})

describe('when a body is requested', () => {
  it('100 Continue comes only after key and bounds were checked', async () => {
    const { port } = await openTestEdge()
    const client = connectRaw(port)
    const request = chatRequest({ headers: ['expect: 100-continue'] }).toString()
    client.send(request.slice(0, request.indexOf('\r\n\r\n') + 4))
    expect((await client.answer()).status).toBe(100)
    client.send('{"model":"demo"}')
    expect((await client.answer()).status).toBe(200)

    for (const [header, status] of [
      ['authorization: Bearer wrong', 401],
      ['content-length: 100000000', 413],
      ['content-type: text/plain', 415],
    ] as const) {
      const length = header.startsWith('content-length') ? [] : ['content-length: 16']
      const refused = await ask(port, chatRequest({ body: '', headers: ['expect: 100-continue', header, ...length] }))
      expect([refused.status, refused.headers.connection]).toEqual([status, 'close'])
    }
  })

  it('a refusal before the body leaves the connection usable when the body is small', async () => {
    const { port } = await openTestEdge()
    const client = connectRaw(port)
    const body = `{"a":"${'x'.repeat(10_000)}"}`
    client.send(chatRequest({ body, headers: ['authorization: Bearer wrong'] }))
    expectProblem(await client.answer(), 'invalid_api_key')
    client.send(getRequest('/v1/models'))
    expect((await client.answer()).status).toBe(200)
  })

  it('401 and the early 402 do not wait for the body', async () => {
    const { port, bodies } = await openTestEdge()
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['content-length: 5000', 'authorization: Bearer wrong'], body: '' }))
    expectProblem(await client.answer(), 'invalid_api_key')
    expect(bodies).toEqual([])
  })

  it('a client that disconnects while it sends gets no answer and is logged', async () => {
    const { port, logs } = await openTestEdge()
    const client = connectRaw(port)
    client.send(chatRequest({ headers: ['content-length: 100'], body: '{"a"' }))
    await once(client.socket, 'connect')
    await delivered()
    client.socket.resetAndDestroy()
    while (logs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(logs).toMatchObject([{ outcome: 'client_gone', status: undefined }])
  })
})
