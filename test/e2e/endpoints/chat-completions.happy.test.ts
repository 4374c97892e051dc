import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { isRequestId } from '../../../src/model/ids.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { readStream } from '../../support/read-stream.ts'
import { answerOf, chat, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { useServer } from '../../support/use-server.ts'

describe('POST /v1/chat/completions answers', () => {
  const server = useServer()

  it('with a completion, as JSON or stream', async () => {
    const account = await openAccount(server())
    const json = await chat(server(), account, { messages: hello('count to 5') })
    const stream = await readStream(
      await send(server(), account, { model: 'swift', stream: true, messages: hello('count to 5') }),
    )
    expect(json.json.choices[0].message.content).toBe('1 2 3 4 5')
    expect(stream.text).toBe('1 2 3 4 5')
    expect(isRequestId(json.requestId) && isRequestId(stream.requestId)).toBe(true)
    expect(json.requestId).not.toBe(stream.requestId)
  })

  it('to every message shape that clients send', async () => {
    const account = await openAccount(server())
    const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
    const shapes: readonly (readonly object[])[] = [
      [{ role: 'system', content: 'Be kind.' }, ...hello()],
      [{ role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] }, ...hello()],
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
      [{ role: 'user', content: '' }],
      [{ role: 'user', content: [] }],
      [{ role: 'user', name: 'me', content: 'Größe 🚀 \u0000 \ud800' }],
      [
        ...hello(),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'x' },
      ],
      [
        ...hello(),
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'x' }] },
      ],
      [...hello(), { role: 'assistant', content: [{ type: 'refusal', refusal: 'no' }] }, ...hello('why?')],
      [...hello(), { role: 'assistant', content: 'Hi', reasoning_content: 'hm' }, ...hello('more')],
      Array.from({ length: 300 }, (_, index) => ({ role: index % 2 ? 'assistant' : 'user', content: `${index}` })),
    ]
    for (const messages of shapes) {
      const answer = await chat(server(), account, { messages, max_tokens: 5 })
      expect(answer.status, JSON.stringify(answer.json)).toBe(200)
    }
  })

  it('to compressed, chunked and large bodies', async () => {
    const account = await openAccount(server())
    const text = JSON.stringify({ model: 'swift', messages: hello('word '.repeat(100_000)), max_tokens: 5 })
    const packed = await answerOf(
      await send(server(), account, gzipSync(text), { headers: { 'content-encoding': 'gzip' } }),
    )
    const plain = await answerOf(await send(server(), account, text))
    expect(packed.json.usage).toEqual(plain.json.usage)
    expect(plain.json.usage.prompt_tokens).toBeGreaterThan(100_000)

    const body = JSON.stringify({ model: 'swift', messages: hello() })
    const socket = await openRawSocket(server())
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
        'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
    )
    for (const letter of body) socket.write(`1\r\n${letter}\r\n`)
    socket.write('0\r\n\r\n')
    expect((await socket.answer()).status).toBe(200)
    socket.destroy()
  })

  it('to local programs with a local Origin', async () => {
    const account = await openAccount(server())
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1:8080', 'app://obsidian.md', 'null', 'file://']) {
      expect((await chat(server(), account, {}, { headers: { origin } })).status, origin).toBe(200)
    }
  })

  it('several requests on one keep-alive connection', async () => {
    const account = await openAccount(server())
    const socket = await openRawSocket(server())
    const body = JSON.stringify({ model: 'swift', messages: hello(), max_tokens: 5 })
    const request =
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    socket.write(request.repeat(3))
    const ids = [await socket.answer(), await socket.answer(), await socket.answer()].map((answer) => {
      expect(answer.status).toBe(200)
      return answer.requestId
    })
    // All three are admitted at once, so the order of their receipts is chance.
    expect((await account.receipts()).map((receipt) => receipt.request_id).sort()).toEqual(ids.sort())
    socket.destroy()
  })

  it('with a smaller output cap, announced in a header, when the wallet does not cover the maximum', async () => {
    const account = await openAccount(server(), { credit: '0.003' })
    const answer = await chat(server(), account, { messages: hello('count to 3') })
    expect(answer.status).toBe(200)
    const cap = Number(answer.headers.get('x-millrace-max-output-tokens'))
    expect(cap).toBeGreaterThanOrEqual(1024)
    expect(cap).toBeLessThan(8192)
    const [receipt] = await account.receipts()
    expect(receipt).toMatchObject({ output_cap: cap })
    // A quarter of the money, so that a second request still finds some.
    expect(receipt?.hold_nano).toBeLessThan(1_500_000n)
  })
})
