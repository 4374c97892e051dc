import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { chunk, USAGE, usageChunk } from '../../fakes/chat-frames.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import type { TestServer } from '../../support/start-server.ts'
import { until } from '../../support/until.ts'

/** More than all buffers of the system between a provider and a client can hold. */
const FRAME_BYTES = 64 * 1024
const FRAMES = 1024

/** A provider with one word and much beside it, as fast as it is read. */
export function createFlood() {
  const state = { sent: 0, ended: false }
  const script: Script = async (providerAnswer) => {
    await providerAnswer.head()
    const frame = chunk(providerAnswer.model, { delta: { content: 'a' }, more: { padding: 'x'.repeat(FRAME_BYTES) } })
    for (; state.sent < FRAMES && !providerAnswer.socket.destroyed; state.sent++) await providerAnswer.frames(frame)
    state.ended = state.sent === FRAMES
    await providerAnswer.frames(
      chunk(providerAnswer.model, { finish: 'stop' }),
      usageChunk(providerAnswer.model, USAGE),
      '[DONE]',
    )
    await providerAnswer.end()
  }
  /** Nothing has been taken from the provider while the clock of the test looked many times. */
  const stalled = async () => {
    let seen = { sent: -1, times: 0 }
    await until(() => {
      seen = state.sent === seen.sent ? { ...seen, times: seen.times + 1 } : { sent: state.sent, times: 0 }
      return state.ended || (state.sent > 0 && seen.times >= 60)
    })
  }
  return { script, state, stalled, wholeBytes: FRAMES * FRAME_BYTES, words: 'a'.repeat(FRAMES) }
}

/** A client that asks and then reads nothing, until it is told to. */
export async function sendAndStall(server: TestServer, key: string, model: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port: server.port })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.pause()
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Go on.' }] })
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  return socket
}
