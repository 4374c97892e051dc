import { describe, expect, it } from 'vitest'
import { openRawSocket } from '../support/raw-socket.ts'
import { hello } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { until } from '../support/until.ts'
import { useServer } from '../support/use-server.ts'

describe('two pipelined streams whose client disconnects', () => {
  const server = useServer()

  const requestOf = (secret: string, body: object): string => {
    const text = JSON.stringify(body)
    const head = [
      'POST /v1/chat/completions HTTP/1.1',
      'host: test',
      `authorization: Bearer ${secret}`,
      'content-type: application/json',
      `content-length: ${text.length}`,
    ]
    return `${head.join('\r\n')}\r\n\r\n${text}`
  }

  it('both end and release their holds and slots', async () => {
    const account = await openAccount(server(), { credit: '1.00' })
    const socket = await openRawSocket(server())
    const first = requestOf(account.key, { model: 'calm', stream: true, messages: hello('count to 5000') })
    const second = requestOf(account.key, { model: 'swift', stream: true, messages: hello('count to 5000') })
    socket.write(first + second)
    await until(async () => (await account.receipts()).length === 2 && socket.received.includes('data: '))
    expect(server().serving.turnsRunning).toBeGreaterThan(0)
    socket.destroy()
    const receipts = await until(async () => {
      const rows = await account.receipts()
      return rows.every(({ state }) => state !== 'open') ? rows : undefined
    })
    expect(receipts).toHaveLength(2)
    expect((await account.wallet()).held).toBe(0n)
    await until(async () => server().serving.turnsRunning === 0)
  })
})
