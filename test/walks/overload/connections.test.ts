import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { get } from '../../support/ask.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { openLoadReader, PATIENT_HOUSE } from './load-of.ts'

const requestOf = (key: string, body: object, version = '1.1') => {
  const bytes = JSON.stringify(body)
  return (
    `POST /v1/chat/completions HTTP/${version}\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n${bytes}`
  )
}

describe('a client that has said all that it had to say', () => {
  const server = useServer()

  /** Sends, closes its own side, and takes what comes until the server closes the other. */
  async function askAndHalfClose(key: string, body: object, version?: string): Promise<string> {
    const socket = connect({ host: '127.0.0.1', port: server().port, allowHalfOpen: true })
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
    await once(socket, 'connect')
    socket.end(requestOf(key, body, version))
    await once(socket, 'close')
    return received
  }

  it.each(['1.1', '1.0'])('gets its answer although it closes its side of the connection: HTTP/%s', async (version) => {
    const account = await openAccount(server())
    const messages = [{ role: 'user', content: 'count to 7' }]
    const json = await askAndHalfClose(account.key, { model: 'calm', messages }, version)
    expect(json).toMatch(/HTTP\/1\.1 200 OK\r\n/)
    expect(json).toContain('"finish_reason":"stop"')
    expect(json.includes('102 Processing')).toBe(version === '1.1')
    const stream = await askAndHalfClose(account.key, { model: 'calm', stream: true, messages }, version)
    expect(stream).toContain('[DONE]')
    const receipts = await account.receipts()
    expect(receipts.map(({ outcome, output }) => ({ outcome, output }))).toEqual([
      { outcome: 'completed', output: 7 },
      { outcome: 'completed', output: 7 },
    ])
  })

  it.each([true, false])('is known to have gone when it has, stream: %s', async (stream) => {
    const account = await openAccount(server())
    const socket = await openRawSocket(server())
    const messages = [{ role: 'user', content: 'count to 5000' }]
    socket.write(requestOf(account.key, { model: 'calm', stream, messages }))
    await until(async () => (await account.receipts()).length === 1)
    if (stream) await until(() => socket.received.includes('data: '))
    socket.destroy()
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    expect(receipt.outcome).toBe('client_gone')
  })
})

describe('as many connections as may be open', () => {
  const server = useServer({ config: PATIENT_HOUSE })

  it('one more is closed, those that nobody uses make room for the next', async () => {
    const account = await openAccount(server())
    const load = await openLoadReader(server())
    const request = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n\r\n`
    const used = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const socket = await openRawSocket(server())
        socket.write(request)
        expect((await socket.answer()).status).toBe(200)
        return socket
      }),
    )
    const tooMany = await openRawSocket(server())
    await tooMany.closed
    expect(await load.shed('connections')).toBe(1)
    await Promise.all(used.map((socket) => socket.closed))
    expect((await get(server(), account, '/models')).status).toBe(200)
  })
})
