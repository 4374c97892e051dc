import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { openRawSocket } from '../../support/raw-socket.ts'
import { chat, hello } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { fill, HASTY_HOUSE, KiB, openLoadReader, PATIENT_HOUSE } from './load.ts'

const BODY = JSON.stringify({ model: 'swift', messages: hello() })

const headOf = (key: string, headers: string) =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n${headers}\r\n`
const JSON_TYPE = 'content-type: application/json\r\n'
const lengthOf = (bytes: number) => `content-length: ${bytes}\r\n`
const CHUNKED = 'transfer-encoding: chunked\r\n'

/** What a client may send, and what it is told; undefined: it hears nothing more. */
const ENDS: Readonly<Record<string, readonly [sent: (key: string) => string, status: number | undefined]>> = {
  'is whole': [(key) => headOf(key, JSON_TYPE + lengthOf(BODY.length)) + BODY, 200],
  'says that it is too large': [(key) => headOf(key, JSON_TYPE + lengthOf(600 * KiB)), 413],
  'is larger than it says': [
    (key) => `${headOf(key, JSON_TYPE + CHUNKED)}${(600 * KiB).toString(16)}\r\n${'x'.repeat(600 * KiB)}`,
    413,
  ],
  'is of another type': [(key) => headOf(key, `content-type: text/plain\r\n${lengthOf(5)}`), 415],
  'is no JSON': [(key) => `${headOf(key, JSON_TYPE + lengthOf(5))}{"a":`, 400],
  'is no gzip': [(key) => `${headOf(key, `${JSON_TYPE}content-encoding: gzip\r\n${lengthOf(5)}`)}hello`, 400],
  'is a bomb': [
    (key) => {
      const bomb = gzipSync(Buffer.alloc(500 * KiB))
      return headOf(key, `${JSON_TYPE}content-encoding: gzip\r\n${lengthOf(bomb.length)}`) + bomb.toString('latin1')
    },
    400,
  ],
  'has a broken chunk': [(key) => `${headOf(key, JSON_TYPE + CHUNKED)}5\r\nhello\r\nzz\r\n`, 400],
  'is awaited with 100': [(key) => headOf(key, `${JSON_TYPE}expect: 100-continue\r\n${lengthOf(BODY.length)}`), 100],
  'never comes': [(key) => headOf(key, JSON_TYPE + lengthOf(100)), undefined],
  'breaks off': [(key) => `${headOf(key, JSON_TYPE + lengthOf(100))}{"model"`, undefined],
}

describe('a slot and its memory are released after a body that', () => {
  const server = useServer({ config: PATIENT_HOUSE })

  it.each(Object.entries(ENDS))('%s', async (_, [sent, status]) => {
    const load = openLoadReader(server())
    const socket = await openRawSocket(server())
    socket.write(sent((await openAccount(server())).key))
    if (status !== undefined) expect((await socket.answer()).status).toBe(status)
    else await until(async () => (await load.load()).running === 1)
    socket.destroy()
    await load.idle()
    expect(await load.load()).toMatchObject({ running: 0, bytes: 0, waiting: 0 })
  })

  it('was answered before under the same idempotency key', async () => {
    const account = await openAccount(server())
    const load = openLoadReader(server())
    const headers = { 'idempotency-key': 'once' }
    for (let count = 0; count < 5; count++) expect((await chat(server(), account, {}, { headers })).status).toBe(200)
    await load.idle()
    expect(await load.load()).toMatchObject({ running: 0, bytes: 0, waiting: 0 })
  })
})

describe('a waiting client that disconnects leaves the queue', () => {
  const server = useServer({ config: PATIENT_HOUSE })

  it.each([
    ['with one request behind the other', (key: string) => ENDS['is whole']![0](key).repeat(2), 2],
    ['before its body was asked for', ENDS['is awaited with 100']![0], 1],
    ['in the middle of its body', ENDS['breaks off']![0], 1],
  ] as const)('%s', async (_, sent, count) => {
    const { account, end } = await fill(server())
    const load = openLoadReader(server())
    const socket = await openRawSocket(server())
    socket.write(sent(account.key))
    await until(async () => (await load.load()).waiting === count)
    socket.destroy()
    await until(async () => (await load.load()).waiting === 0)
    end()
    await load.idle()
    expect(await load.load()).toMatchObject({ running: 0, bytes: 0, waiting: 0 })
  })
})

describe('pipelined requests that wait', () => {
  const server = useServer({ config: HASTY_HOUSE })

  it('are each refused, in order', async () => {
    const { account, end } = await fill(server())
    const load = openLoadReader(server())
    const socket = await openRawSocket(server())
    socket.write(ENDS['is whole']![0](account.key).repeat(2))
    expect([(await socket.answer()).status, (await socket.answer()).status]).toEqual([503, 503])
    socket.destroy()
    end()
    await load.idle()
    expect(await load.load()).toMatchObject({ running: 0, bytes: 0, waiting: 0 })
  })
})
