import { afterEach, describe, expect, it, vi } from 'vitest'
import type { PlaygroundTurn } from '../../../lib/api-client.ts'
import { runTurn } from './run-turn.ts'

const TURN: PlaygroundTurn = { endpoint: 'chat/completions', pays: 'builder', body: { model: 'm', stream: true } }
const HELLO = 'data: {"choices":[{"delta":{"content":"Hello"}}]}\n\n'
const bytesOf = (text: string) => new TextEncoder().encode(text)

interface Served {
  readonly pieces: readonly string[]
  /** Stays open after its last chunk until the client disconnects. */
  readonly open?: boolean
}

function stream({ pieces, open = false }: Served, signal: AbortSignal): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(bytesOf(piece))
      if (!open) return controller.close()
      signal.addEventListener('abort', () => controller.error(signal.reason))
    },
  })
  return new Response(body, { headers: { 'x-request-id': 'req_1' } })
}

/** Answers the session request, then the turn, and returns the requests it received. */
function serve(answer: (signal: AbortSignal) => Response) {
  const sent: RequestInit[] = []
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    if (address.endsWith('/session')) return Response.json({ csrf: 'token', setup_needed: false })
    sent.push(init)
    return answer(init.signal as AbortSignal)
  })
  return sent
}

const run = (stopper = new AbortController(), onProgress = () => {}) =>
  runTurn(TURN, { signal: stopper.signal, onProgress })

afterEach(() => vi.unstubAllGlobals())

describe('a turn', () => {
  it('sends the CSRF token and the payer, and completes with the final event', async () => {
    const sent = serve((signal) => stream({ pieces: [HELLO.slice(0, 9), HELLO.slice(9), 'data: [DONE]\n\n'] }, signal))
    const { state, answer, requestId, raw } = await run()
    expect({ state, text: answer.text, requestId, events: raw.count }).toEqual({
      state: 'done',
      text: 'Hello',
      requestId: 'req_1',
      events: 2,
    })
    expect(sent[0]?.headers).toMatchObject({ 'x-csrf-token': 'token', 'x-millrace-pays': 'builder' })
    expect(JSON.parse(String(sent[0]?.body))).toEqual(TURN.body)
  })

  it('is cut off without a final event and keeps the partial answer', async () => {
    serve((signal) => stream({ pieces: [HELLO] }, signal))
    const { state, answer, problem } = await run()
    expect([state, answer.text, problem?.code, problem?.requestId]).toEqual(['failed', 'Hello', 'stream_cut', 'req_1'])
  })

  it('keeps the partial answer and the request id when stopped', async () => {
    const stopper = new AbortController()
    serve((signal) => stream({ pieces: [HELLO], open: true }, signal))
    const { state, answer, requestId, problem } = await run(stopper, () => stopper.abort())
    expect([state, answer.text, requestId, problem]).toEqual(['stopped', 'Hello', 'req_1', undefined])
  })

  it("shows the server's message when refused", async () => {
    const error = { code: 'insufficient_balance', message: 'Add funds.', request_id: 'req_2' }
    serve(() => Response.json({ error }, { status: 402 }))
    const { state, problem, requestId } = await run()
    expect([state, problem?.code, problem?.message, requestId]).toEqual([
      'failed',
      'insufficient_balance',
      'Add funds.',
      'req_2',
    ])
  })

  it('fails on events that are not JSON', async () => {
    serve((signal) => stream({ pieces: ['data: {nonsense\n\n'] }, signal))
    expect((await run()).state).toBe('failed')
  })
})
