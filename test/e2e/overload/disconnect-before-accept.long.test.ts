import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { requestsEnded } from '../../support/read-metrics.ts'
import { chat } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'
import { workHard } from './block-event-loop.ts'

/** The loop is looked at once a second. */
const LOOKED_AT_MS = 2500

const server = useServer({ config: `${TEST_CONFIG}\noverload: { loop_delay: off }\n` })

it('with a late event loop, a disconnected client costs nothing and a waiting one is served', async () => {
  const account = await openAccount(server())
  const stop = workHard()
  await sleep(LOOKED_AT_MS)
  const before = await requestsEnded(server())
  const body = JSON.stringify({ model: 'swift', messages: [{ role: 'user', content: 'Hello' }] })
  const socket = connect({ host: '127.0.0.1', port: server().port })
  await once(socket, 'connect')
  socket.end(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    () => socket.destroy(),
  )
  await until(async () => (await requestsEnded(server())) > before)
  expect(await account.receipts()).toEqual([])
  expect((await chat(server(), account)).status).toBe(200)
  stop()
})

it('with a late event loop, a half-closed client with a truncated body is dropped', async () => {
  const account = await openAccount(server())
  const stop = workHard()
  await sleep(LOOKED_AT_MS)
  const socket = connect({ host: '127.0.0.1', port: server().port, allowHalfOpen: true })
  const closed = once(socket, 'end')
  await once(socket, 'connect')
  socket.resume()
  socket.end(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
      'content-type: application/json\r\ncontent-length: 200\r\n\r\n{"model":',
  )
  await Promise.race([
    closed,
    once(socket, 'error'),
    sleep(30_000).then(() => Promise.reject(new Error('it still stands'))),
  ])
  expect(await account.receipts()).toEqual([])
  socket.destroy()
  stop()
})
