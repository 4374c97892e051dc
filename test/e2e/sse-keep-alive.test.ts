import { describe, expect, it } from 'vitest'
import { framesOf, readStream } from '../support/read-stream.ts'
import { answerOf, hello, send } from '../support/send-chat.ts'
import { nanoOf, openAccount } from '../support/test-account.ts'
import { TEST_CONFIG } from '../support/test-config.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'

/** The demo thinks in silence before it speaks: longer with more effort, many times these ten milliseconds. */
const thinking = { model: 'calm-high', stream: true, messages: hello('count to 3') }

describe('SSE keep-alive while a model thinks', () => {
  const server = useServer({ config: `${TEST_CONFIG}\nstreams: { silence_before_head: 10ms, keep_alive: 10ms }\n` })

  it('sends the headers and then comments', async () => {
    const account = await openAccount(server())
    const response = await send(server(), account, {
      ...thinking,
      stream_options: { include_usage: true },
    })
    const answer = await readStream(response)
    const firstData = answer.frames.findIndex((frame) => frame.startsWith('data: '))
    const before = answer.frames.slice(0, firstData)
    expect(before.length).toBeGreaterThan(0)
    for (const frame of answer.frames) expect(frame).toMatch(/^(: keep-alive|data: .*)$/)
    expect(answer.text).toBe('1 2 3')
    expect(answer.done).toBe(true)
    expect(nanoOf(answer.chunks.at(-1).usage.millrace.charge)).toBe((await account.receipts())[0]?.charge_nano)
  })

  it('reports the shutdown in the stream', async () => {
    const account = await openAccount(server())
    const frames: string[] = []
    for await (const frame of framesOf(await send(server(), account, thinking))) {
      frames.push(frame)
      if (frames.length === 1) server().serving.abortTurns()
    }
    expect(frames[0]).toBe(': keep-alive')
    expect(JSON.parse(frames.at(-1)?.slice('data: '.length) ?? '')).toMatchObject({
      error: { code: 'server_draining' },
    })
    expect((await account.receipts())[0]).toMatchObject({ outcome: 'drained' })
  })

  it('charges at most the input on disconnect', async () => {
    const account = await openAccount(server())
    for await (const frame of framesOf(await send(server(), account, thinking))) {
      expect(frame).toBe(': keep-alive')
      break
    }
    const receipt = await until(async () => (await account.receipts()).find((row) => row.state !== 'open'))
    expect(receipt).toMatchObject({ outcome: 'client_gone', output: 0 })
    expect(receipt.charge_nano).toBe(BigInt(receipt.uncached_input ?? 0) * 100n)
  })

  it('does not touch JSON answers', async () => {
    const account = await openAccount(server())
    const { status, json } = await answerOf(await send(server(), account, { ...thinking, stream: false }))
    expect(status).toBe(200)
    expect(json.choices[0].message.content).toBe('1 2 3')
  })
})
