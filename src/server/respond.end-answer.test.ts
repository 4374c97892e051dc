import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import {
  COMPLETED,
  chatRequest,
  closeTestEdges,
  connectRaw,
  getRequest,
  openTestEdge,
  type TestEdge,
  type Turns,
} from '../../test/fixtures/server/edge.ts'
import type { Sink } from '../gateway/turn-input.ts'

afterEach(closeTestEdges)

/** More than the kernel keeps for a client that reads nothing. */
const LARGE = Buffer.from(JSON.stringify({ answer: 'x'.repeat(20 * 1024 * 1024) }))
const LAST_WORD = Buffer.from('"the last word"')

/** Ways in which a turn may say something that its client does not take at once. */
const ANSWERS: readonly [string, string, (sink: Sink) => void][] = [
  ['in one piece', '{}', (sink) => sink.end(Buffer.concat([LARGE, LAST_WORD]))],
  ['streamed, with a long end', '{"stream":true}', (sink) => sink.end(Buffer.concat([LARGE, LAST_WORD]))],
  [
    'streamed, with a short end',
    '{"stream":true}',
    (sink) => {
      void sink.write(LARGE)
      sink.end(LAST_WORD)
    },
  ],
]

describe.each(ANSWERS)('an answer %s that has ended and is not taken yet', (_how, body, say) => {
  /** A turn that has ended; its client reads when it is told to, and then tells all that has come. */
  async function answerUnread({ after = () => {}, sharesPort = false } = {}) {
    const serveTurn: Turns['serveTurn'] = async ({ sink }) => {
      say(sink)
      after()
      return COMPLETED
    }
    const opened = await openTestEdge({ serveTurn, options: { connectionsMax: 2, sharesPort } })
    const { socket } = connectRaw(opened.port)
    socket.removeAllListeners('data').pause()
    socket.write(chatRequest({ body }))
    await untilLogged(opened)
    const readAll = async () => {
      const pieces: Buffer[] = []
      socket.on('data', (piece: Buffer) => pieces.push(piece)).resume()
      await once(socket, 'close')
      return Buffer.concat(pieces)
    }
    return { ...opened, readAll }
  }

  it('comes whole although the server stops meanwhile', async () => {
    const { edge, readAll } = await answerUnread()
    const stopped = edge.stopAccepting()
    expect((await readAll()).includes(LAST_WORD)).toBe(true)
    await stopped
  })

  it.each([
    ['', false],
    [', in a worker', true],
  ])('comes whole although others need room meanwhile%s', async (_, sharesPort) => {
    const { edge, port, readAll } = await answerUnread({ sharesPort })
    const idle = connectRaw(port)
    idle.send(getRequest('/healthz'))
    expect((await idle.answer()).status).toBe(200)
    // There is one connection too many: it is refused, and the idle one is closed to make room.
    await connectRaw(port).closed()
    expect(await idle.closed()).toBe('')
    const stopped = edge.stopAccepting()
    expect((await readAll()).includes(LAST_WORD)).toBe(true)
    await stopped
  })

  it('comes whole although something fails behind it', async () => {
    const { edge, logs, readAll } = await answerUnread({
      after: () => {
        throw new Error('behind its end')
      },
    })
    expect(logs).toMatchObject([{ error: { message: 'behind its end' } }])
    const stopped = edge.stopAccepting()
    expect((await readAll()).includes(LAST_WORD)).toBe(true)
    await stopped
  })
})

async function untilLogged({ logs }: TestEdge): Promise<void> {
  while (logs.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
}
