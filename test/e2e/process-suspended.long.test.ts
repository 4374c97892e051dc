import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { chunk, USAGE, usageChunk } from '../fakes/chat-frames.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { openRawSocket } from '../support/raw-socket.ts'
import { framesOf, readStream } from '../support/read-stream.ts'
import { hello, send } from '../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'

/** Longer than each of the time limits below. */
const STOPPED_MS = 3000
const MESSAGES = hello('Count, please.')

let far: FaultUpstream
let server: SpawnedServer
let stopped: () => void

beforeEach(async () => {
  const isStopped = new Promise<void>((resolve) => {
    stopped = resolve
  })
  far = await startFaultUpstream((model) => async (providerAnswer) => {
    const word = (text: string) => providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: text } }))
    const finish = () => providerAnswer.frames(chunk(providerAnswer.model, { finish: 'stop' }))
    const end = async () => {
      await providerAnswer.frames(usageChunk(providerAnswer.model, USAGE), '[DONE]')
      await providerAnswer.end()
    }
    if (model === 'late-head') await isStopped
    await providerAnswer.head()
    await word('one ')
    if (model === 'late-usage') await finish()
    await isStopped
    if (model !== 'late-usage') {
      for (let at = 0; at < 50; at++) await word('more ')
      await finish()
    }
    await end()
  })
  const models = ['late-words', 'late-head', 'late-usage']
  server = await spawnServer({
    config: `bounds: { request_timeout: 1s, header_timeout: 1s, keep_alive_timeout: 1s }
upstreams:
  - { id: far, wire: chat, base_url: "${far.baseUrl}", allow_private: true, api_key: sk-far-0123456789, timeouts: { first_byte: 1s, idle: 1s, no_progress: 1s, total: 2s } }
models:
${models.map((id) => `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: far, model: ${id} }] }`).join('\n')}
`,
  })
})

afterEach(async () => {
  server.kill('SIGCONT')
  await server.close()
  await far.close()
})

/** What the provider and the clients say meanwhile is in the kernel when the server goes on. */
async function stopFor(meanwhile: () => void): Promise<void> {
  server.kill('SIGSTOP')
  await pause(100)
  meanwhile()
  await pause(STOPPED_MS)
  server.kill('SIGCONT')
}

describe('a process suspended longer than its timeouts reads waiting data before timing out:', () => {
  it('from a provider that continued its stream', async () => {
    const answer = await send(server, server, { model: 'late-words', stream: true, messages: MESSAGES })
    const whole = readStream(answer)
    await pause(200)
    await stopFor(() => stopped())
    expect(await whole).toMatchObject({ done: true, text: `one ${'more '.repeat(50)}` })
  })

  it('from a provider that started its answer', async () => {
    const receivedRequest = send(server, server, { model: 'late-head', stream: true, messages: MESSAGES })
    await pause(200)
    await stopFor(() => stopped())
    expect(await readStream(await receivedRequest)).toMatchObject({ done: true })
    expect(far.providerAnswers).toHaveLength(1)
  })

  it('usage after a complete answer', async () => {
    const answer = await send(server, server, { model: 'late-usage', stream: true, messages: MESSAGES })
    const frames: string[] = []
    for await (const frame of framesOf(answer)) {
      if (frames.push(frame) === 1) await stopFor(() => stopped())
    }
    expect(frames.at(-1)).toBe('data: [DONE]')
  })

  it('from a client that sent the rest of its request', async () => {
    stopped()
    const body = JSON.stringify({ model: 'late-words', messages: MESSAGES })
    const client = await openRawSocket(server)
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${server.key}\r\ncontent-type: application/json\r\n`
    client.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 10)}`)
    await pause(200)
    await stopFor(() => client.write(body.slice(10)))
    // The fake answers in a stream only, which is no JSON: what counts is that the request was read.
    expect((await client.answer()).status).not.toBe(408)
    client.destroy()
  })
})
