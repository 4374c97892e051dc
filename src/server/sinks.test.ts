import { afterEach, describe, expect, it } from 'vitest'
import {
  COMPLETED,
  chatRequest,
  closeTestEdges,
  connectRaw,
  openTestEdge,
  type RawClient,
  type Turns,
} from '../../test/fixtures/server/edge.ts'
import { expectProblem } from '../../test/fixtures/server/envelope.ts'
import type { Sink } from '../gateway/turn-input.ts'
import { problem } from '../model/problem.ts'

afterEach(closeTestEdges)

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const until = async (holds: () => boolean) => {
  while (!holds()) await sleep(5)
}
const quick = { stream: { headDelayMs: 100, keepAliveMs: 150 }, stallMs: 1000 }

/** Opens an edge whose turns are told by the test, and asks for one. */
async function startTurn(
  tell: (sink: Sink, client: RawClient) => Promise<void> | void,
  body = '{"stream":true}',
  options = quick,
  asWritten = (request: string) => request,
) {
  const phases: string[] = []
  let sink: Sink | undefined
  const serveTurn: Turns['serveTurn'] = async (call) => {
    sink = call.sink
    phases.push(sink.phase)
    await tell(sink, client)
    phases.push(sink.phase)
    return COMPLETED
  }
  let client: RawClient
  const opened = await openTestEdge({ serveTurn, options })
  client = connectRaw(opened.port)
  client.send(asWritten(String(chatRequest({ body }))))
  await until(() => sink !== undefined)
  return { ...opened, client, phases, sink: sink! }
}

describe('a streamed answer', () => {
  it('has a head that no proxy buffers, announced headers, and one chunk per write', async () => {
    const { client, phases } = await startTurn(async (sink) => {
      sink.announce({ 'x-ratelimit-limit-requests': '600' })
      await sink.write(Buffer.from('data: 1\n\n'))
      expect(sink.phase).toBe('body')
      sink.announce({ 'x-late': 'yes' })
      await sink.write(Buffer.from('data: 2\n\n'))
      sink.end(Buffer.from('data: [DONE]\n\n'))
    })
    const { status, headers, body } = await client.answer()
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'x-ratelimit-limit-requests': '600',
      'x-request-id': expect.stringMatching(/^req_/) as string,
    })
    expect(headers['x-late']).toBeUndefined()
    expect(body).toBe('data: 1\n\ndata: 2\n\ndata: [DONE]\n\n')
    expect(phases).toEqual(['quiet', 'ended'])
  })

  it('comes whole in pieces of every size, however each was framed', async () => {
    const pieces = [1, 15, 16, 4095, 4096, 4097, 100_000, 2, 70_000, 3].map((size, at) => Buffer.alloc(size, 97 + at))
    const { client } = await startTurn(async (sink) => {
      for (const piece of pieces) await sink.write(piece)
      sink.end(Buffer.from('end'))
    })
    expect((await client.answer()).body).toBe(`${Buffer.concat(pieces)}end`)
  })

  it('is not framed for a client of HTTP/1.0, which reads until the connection closes', async () => {
    const { client } = await startTurn(
      async (sink) => {
        await sink.write(Buffer.from('data: 1\n\n'))
        await sink.write(Buffer.from('data: 2\n\n'))
        sink.end(Buffer.from('data: [DONE]\n\n'))
      },
      undefined,
      undefined,
      (request) => request.replace('HTTP/1.1', 'HTTP/1.0'),
    )
    await until(() => client.received().endsWith('[DONE]\n\n'))
    expect(client.received()).toMatch(/\r\n\r\ndata: 1\n\ndata: 2\n\ndata: \[DONE]\n\n$/)
    expect(client.received()).not.toMatch(/transfer-encoding/i)
  })

  it('sends its head when nothing comes for long, then comments, and is not committed by them', async () => {
    const { client, sink } = await startTurn((delivered) => until(() => delivered.phase === 'ended'))
    await until(() => client.received().split(': keep-alive').length >= 4)
    expect(sink.phase).toBe('head')
    expect(() => sink.refuse(problem('server_is_overloaded', 'too late'))).toThrow(/head/)
    sink.end(Buffer.from('data: [DONE]\n\n'))
    expect((await client.answer()).body).toMatch(/^(: keep-alive\n\n)+data: \[DONE]\n\n$/)
  })

  it('can be refused with a status while quiet, with announced and retry headers', async () => {
    const { client } = await startTurn((sink) => {
      sink.announce({ 'x-ratelimit-remaining-requests': '0' })
      sink.refuse(problem('rate_limit_exceeded', 'Slow down; try again in 7s', { retryAfterSeconds: 7 }))
    })
    const answer = await client.answer()
    expectProblem(answer, 'rate_limit_exceeded')
    expect(answer.headers).toMatchObject({ 'retry-after': '7', 'x-ratelimit-remaining-requests': '0' })
  })

  it('applies backpressure while the client reads nothing, and goes on when it reads', async () => {
    const total = 20 * 1024 * 1024
    let written = 0
    let writtenUnread = 0
    let arrived = 0
    const { sink, logs } = await startTurn(async (delivered, client) => {
      client.socket.removeAllListeners('data').on('data', (chunk) => {
        arrived += chunk.length
      })
      client.socket.pause()
      setTimeout(() => {
        writtenUnread = written
        client.socket.resume()
      }, 100)
      for (; written < total; written += 64 * 1024) await delivered.write(Buffer.alloc(64 * 1024, 'x'))
      delivered.end(Buffer.from('end'))
    })
    await until(() => logs.length > 0 && arrived > total)
    expect(sink.phase).toBe('ended')
    expect(writtenUnread).toBeLessThan(total)
  })

  it('gives up on a client that takes nothing for longer than the stall limit', async () => {
    let gone = 0
    const { client, logs } = await startTurn(
      async (delivered) => {
        delivered.onDisconnect(() => {
          gone += 1
        })
        while (!delivered.disconnected) await (delivered.write(Buffer.alloc(1024 * 1024, 'x')) ?? sleep(0))
      },
      '{"stream":true}',
      { ...quick, stallMs: 200 },
    )
    client.socket.pause()
    await until(() => logs.length > 0)
    expect(gone).toBe(1)
    client.socket.destroy()
  })

  it('reports a disconnect once, and ends the wait for the socket', async () => {
    let calls = 0
    const { client, sink, logs } = await startTurn(async (delivered, reader) => {
      reader.socket.pause()
      delivered.onDisconnect(() => {
        calls += 1
      })
      while (!delivered.disconnected) await (delivered.write(Buffer.alloc(256 * 1024, 'x')) ?? sleep(0))
    })
    await sleep(50)
    client.socket.resetAndDestroy()
    await until(() => logs.length > 0)
    expect([calls, sink.disconnected]).toEqual([1, true])
    expect(sink.write(Buffer.from('more'))).toBeUndefined()
    sink.end(Buffer.from('end'))
    expect(calls).toBe(1)
    let late = 0
    sink.onDisconnect(() => {
      late += 1
    })
    expect(late).toBe(1)
  })

  it('reports no disconnect when the client closes after the end', async () => {
    let calls = 0
    const { client, sink } = await startTurn((delivered) => {
      delivered.onDisconnect(() => {
        calls += 1
      })
      delivered.end(Buffer.from('data: [DONE]\n\n'))
    })
    await client.answer()
    client.socket.destroy()
    await sleep(30)
    expect([calls, sink.disconnected]).toEqual([0, false])
  })

  it('destroy breaks the connection without the end that a whole answer has', async () => {
    const { client } = await startTurn(async (sink) => {
      await sink.write(Buffer.from('data: 1\n\n'))
      await sleep(20)
      sink.destroy()
    })
    const received = await client.closed()
    expect(received).toContain('data: 1')
    expect(received).not.toContain('0\r\n\r\n')
  })

  it('is cut when the gateway throws after the head', async () => {
    const { client, logs } = await startTurn(async (sink) => {
      await sink.write(Buffer.from('data: 1\n\n'))
      throw new Error('boom')
    })
    expect(await client.closed()).not.toContain('0\r\n\r\n')
    await until(() => logs.length > 0)
    expect(logs[0]).toMatchObject({ error: expect.any(Error) as Error, status: 200 })
  })
})

describe('two streams that were requested in one write', () => {
  /** The first turn of the connection is told by `first`, the second by `second`. */
  async function startTwo(
    first: (sink: Sink) => Promise<void>,
    second: (sink: Sink) => Promise<void>,
    options = quick,
  ) {
    let asked = 0
    let ended = 0
    const serveTurn: Turns['serveTurn'] = async ({ sink }) => {
      await (asked++ === 0 ? first : second)(sink)
      ended += 1
      return COMPLETED
    }
    const opened = await openTestEdge({ serveTurn, options })
    const client = connectRaw(opened.port)
    const request = chatRequest({ body: '{"stream":true}' })
    client.send(Buffer.concat([request, request]))
    await until(() => asked === 2)
    return { ...opened, client, ended: () => ended }
  }
  const writeUntilGone = async (sink: Sink) => {
    while (!sink.disconnected) await (sink.write(Buffer.alloc(64 * 1024, 'x')) ?? sleep(0))
  }
  const waitUntilGone = (sink: Sink) => new Promise<void>((resolve) => sink.onDisconnect(resolve))

  it('both end on a disconnect, the queued one too, whether it writes or waits', async () => {
    for (const second of [writeUntilGone, waitUntilGone]) {
      const { client, ended, logs } = await startTwo(waitUntilGone, second)
      await sleep(50)
      client.socket.destroy()
      await until(() => ended() === 2)
      expect(logs).toHaveLength(2)
    }
  })

  it('the queued one is not taken for stalled while the first one thinks, and comes whole behind it', async () => {
    const size = 1024 * 1024
    const { client } = await startTwo(
      async (sink) => {
        await sink.write(Buffer.from('data: first\n\n'))
        await sleep(400)
        sink.end(Buffer.from('data: [DONE]\n\n'))
      },
      async (sink) => {
        for (let written = 0; written < size; written += 65_536) await sink.write(Buffer.alloc(65_536, 'x'))
        sink.end(Buffer.from('data: [DONE]\n\n'))
      },
      { stream: { ...quick.stream, keepAliveMs: 10_000 }, stallMs: 100 },
    )
    expect((await client.answer()).body).toContain('[DONE]')
    expect((await client.answer()).body.length).toBeGreaterThan(size)
  })

  it('a client that takes nothing of the first one loses both', async () => {
    const { client, ended } = await startTwo(writeUntilGone, writeUntilGone, { ...quick, stallMs: 200 })
    client.socket.pause()
    await until(() => ended() === 2)
    client.socket.destroy()
  })

  it('a client that takes nothing of an ended one loses the one that waits behind it', async () => {
    const { client, ended } = await startTwo(
      async (sink) => sink.end(Buffer.alloc(20 * 1024 * 1024, 'x')),
      writeUntilGone,
      { ...quick, stallMs: 200 },
    )
    client.socket.pause()
    await until(() => ended() === 2)
    client.socket.destroy()
  })
})

describe('an answer in one piece', () => {
  it('is 200 with its length, and announced headers', async () => {
    const { client } = await startTurn((sink) => {
      sink.announce({ 'x-ratelimit-limit-tokens': '9' })
      sink.end(Buffer.from('{"ä":1}'))
    }, '{}')
    const answer = await client.answer()
    expect(answer).toMatchObject({ status: 200, body: '{"ä":1}' })
    expect(answer.headers).toMatchObject({ 'content-length': '8', 'x-ratelimit-limit-tokens': '9' })
  })

  it('cannot be written in pieces or ended twice', async () => {
    const { client, sink } = await startTurn((delivered) => {
      expect(() => delivered.write(Buffer.from('x'))).toThrow(/pieces/)
      delivered.end(Buffer.from('{}'))
    }, '{}')
    await client.answer()
    expect(() => sink.end(Buffer.from('{}'))).toThrow(/already/)
  })

  it('a throw behind it is internal_error with the id that the log has, and nothing of the error', async () => {
    const { client, logs } = await startTurn(() => {
      throw new Error('secret detail')
    }, '{}')
    const answer = await client.answer()
    expectProblem(answer, 'internal_error')
    expect(answer.body).not.toContain('secret')
    expect(logs).toMatchObject([{ request_id: answer.headers['x-request-id'], code: 'internal_error', status: 500 }])
  })

  it('reports a disconnect before the answer', async () => {
    let gone = false
    const { client } = await startTurn(async (delivered) => {
      delivered.onDisconnect(() => {
        gone = true
      })
      await until(() => gone)
      delivered.end(Buffer.from('{}'))
    }, '{}')
    client.socket.end()
    await until(() => gone)
  })
})
