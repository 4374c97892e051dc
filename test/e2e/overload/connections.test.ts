import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openRawSocket } from '../../support/raw-socket.ts'
import { get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { openLoadReader, PATIENT_HOUSE } from './load.ts'

const requestOf = (key: string, body: object) => {
  const bytes = JSON.stringify(body)
  return (
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n${bytes}`
  )
}

describe('a client that half-closes the connection', () => {
  const server = useServer()

  it.each([
    ['hangs up', true],
    ['hangs up', false],
    ['sends its last byte', true],
    ['sends its last byte', false],
  ] as const)('counts as disconnected: it %s, stream: %s', async (how, stream) => {
    const account = await openAccount(server())
    const socket = connect({ host: '127.0.0.1', port: server().port, allowHalfOpen: true })
    let received = ''
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
    await once(socket, 'connect')
    const messages = [{ role: 'user', content: 'count to 5000' }]
    socket.write(requestOf(account.key, { model: 'calm', stream, messages }))
    await until(async () => (await account.receipts()).length === 1)
    if (stream) await until(() => received.includes('data: '))
    if (how === 'hangs up') socket.destroy()
    else socket.end()
    const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
    expect(receipt.outcome).toBe('client_gone')
    if (!socket.closed) await once(socket, 'close')
  })
})

describe('at the connection limit', () => {
  const server = useServer({ config: PATIENT_HOUSE })

  it('a new connection is closed; idle connections make room', async () => {
    const account = await openAccount(server())
    const load = openLoadReader(server())
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
