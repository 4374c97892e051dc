import { expect, it } from 'vitest'
import { openBrowser, play, signUp } from '../../support/console-session.ts'
import { chat, get } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer()

it('API requests count turns only, and console requests apart from them', async () => {
  const account = await openAccount(server())
  const operator = await signUp(server(), { email: 'op@served.example', role: 'operator', account: account.id })
  const system = () => operator.call('GET /operate/system')
  const served = async () => (await system()).requests_served

  await openBrowser(server()).send('GET /session')
  await fetch(`http://127.0.0.1:${server().port}/healthz`)
  await get(server(), account, '/models')
  const turn = { model: 'swift', messages: [{ role: 'user', content: 'Hello!' }] }
  expect((await chat(server(), account, { ...turn, model: 'nobody-has-it' })).status).toBe(404)
  expect(await served()).toBe(0)
  const before = (await system()).console_requests
  await operator.send('GET /session')
  await get(server(), account, '/models')

  expect((await chat(server(), account, turn)).status).toBe(200)
  expect((await play(operator, turn)).status).toBe(200)
  await until(() => server().serving.turnsRunning === 0)
  const after = await system()
  // A request counts when it has ended: the first look at the system and the session.
  expect([after.requests_served, after.console_requests - before]).toEqual([2, 2])
})
