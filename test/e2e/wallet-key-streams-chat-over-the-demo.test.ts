import { describe, expect, it } from 'vitest'
import { isRequestId } from '../../src/model/ids.ts'
import { readStream } from '../support/read-stream.ts'
import { get, hello, send } from '../support/send-chat.ts'
import { nanoOf, openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

describe('a wallet key streams a chat over the demo', () => {
  const server = useServer()

  it('gets the whole stream under the requested model name, up to [DONE]', async () => {
    const account = await openAccount(server())
    const answer = await readStream(
      await send(server(), account, { model: 'swift', stream: true, messages: hello('Good day') }),
    )
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(answer.headers.get('cache-control')).toContain('no-cache')
    expect(answer.text).toContain('"Good day"')
    expect(answer.done).toBe(true)
    expect(answer.frames.filter((frame) => frame === 'data: [DONE]')).toHaveLength(1)
    expect(new Set(answer.chunks.map((chunk) => chunk.model))).toEqual(new Set(['swift']))
    for (const field of ['id', 'created', 'object']) {
      expect(new Set(answer.chunks.map((chunk) => chunk[field])).size, field).toBe(1)
    }
    expect(answer.chunks[0].choices[0].delta.role).toBe('assistant')
    const finishes = answer.chunks.map((chunk) => chunk.choices[0].finish_reason)
    expect(finishes.filter((reason) => reason !== null)).toEqual(['stop'])
    expect(finishes.at(-1)).toBe('stop')
  })

  it('gets exactly one usage chunk, on request', async () => {
    const account = await openAccount(server())
    for (const stream_options of [undefined, null, {}, { include_usage: false }, { include_usage: true }]) {
      const response = await send(server(), account, {
        model: 'swift',
        stream: true,
        stream_options,
        messages: hello(),
      })
      const { chunks, done } = await readStream(response)
      const withUsage = chunks.filter((chunk) => chunk.usage)
      const wanted = stream_options?.include_usage === true
      expect(withUsage).toHaveLength(wanted ? 1 : 0)
      expect(chunks.filter((chunk) => chunk.choices.length === 0)).toEqual(withUsage)
      if (wanted) expect(chunks.at(-1)).toBe(withUsage[0])
      expect(done).toBe(true)
    }
  })

  it('sees the same charge in the usage chunk, the receipt and the wallet', async () => {
    const account = await openAccount(server())
    for (const question of ['Hello', 'count to 200', 'Größe und Maß 🚀']) {
      const before = await account.wallet()
      const response = await send(server(), account, {
        model: 'swift-low',
        stream: true,
        stream_options: { include_usage: true },
        messages: hello(question),
      })
      const { chunks, requestId } = await readStream(response)
      const after = await account.wallet()
      const { usage } = chunks.at(-1)
      const receipt = await get(server(), account, `/requests/${requestId}`)

      expect(after.held).toBe(0n)
      expect(nanoOf(usage.millrace.charge)).toBe(before.balance - after.balance)
      expect(receipt.json).toMatchObject({
        id: requestId,
        state: 'settled',
        outcome: 'completed',
        model: 'swift',
        charge: usage.millrace.charge,
        shortfall: '0.00',
        price_version: usage.millrace.price_version,
        tokens: {
          uncached_input: usage.prompt_tokens,
          cached_input: 0,
          output: usage.completion_tokens,
          reasoning: usage.completion_tokens_details.reasoning_tokens,
          estimated: false,
        },
      })
      // 0.10 and 0.40 USD per million tokens are 100 and 400 nano-dollars a token.
      const owed = BigInt(usage.prompt_tokens) * 100n + BigInt(usage.completion_tokens) * 400n
      expect(nanoOf(usage.millrace.charge)).toBe(owed)
      expect(usage.total_tokens).toBe(usage.prompt_tokens + usage.completion_tokens)
    }
  })

  it('sees one request id everywhere', async () => {
    const account = await openAccount(server())
    const response = await send(
      server(),
      account,
      { model: 'swift', stream: true, messages: hello() },
      { headers: { 'x-request-id': 'mine', 'x-client-request-id': 'mine-too' } },
    )
    const { requestId } = await readStream(response)
    expect(isRequestId(requestId)).toBe(true)
    const receipt = await get(server(), account, `/requests/${requestId}`)
    expect(receipt.json.id).toBe(requestId)
    expect(receipt.requestId).not.toBe(requestId)
    expect((await server().operate('requests.trace', { request: requestId })).id).toBe(requestId)
    expect((await account.receipts()).map((row) => row.request_id)).toEqual([requestId])
  })

  it('is told its output cap when it set none', async () => {
    const account = await openAccount(server())
    const free = await send(server(), account, { model: 'swift', stream: true, messages: hello() })
    expect(free.headers.get('x-millrace-max-output-tokens')).toBe('8192')
    await readStream(free)
    const capped = await send(server(), account, { model: 'swift', stream: true, max_tokens: 5, messages: hello() })
    expect(capped.headers.get('x-millrace-max-output-tokens')).toBe(null)
    await readStream(capped)
  })
})
