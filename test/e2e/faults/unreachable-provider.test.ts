import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { reply } from '../../fakes/chat-frames.ts'
import { send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './remote-provider-server.ts'
import { MESSAGES } from './send-to-faulty.ts'

const BODY = { model: 'whole', messages: MESSAGES }

const resolver = { answers: true, receivedRequest: 0 }
let setup: RemoteSetup
beforeAll(async () => {
  const whole = async (providerAnswer: ProviderAnswer) => {
    setup.server.advance(3000)
    await providerAnswer.head(200, { connection: 'close' })
    await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model)))
    await providerAnswer.end()
    providerAnswer.close()
  }
  setup = await startRemoteSetup(
    { whole },
    { whole: { lanes: ['whole'] } },
    {
      host: 'far.example',
      overrides: {
        resolveHost() {
          resolver.receivedRequest += 1
          return resolver.answers ? Promise.resolve([{ address: '127.0.0.1', family: 4 }]) : new Promise(() => {})
        },
      },
    },
  )
})
afterAll(() => setup?.close())

it('an unreachable provider is never charged for', async () => {
  const account = await openAccount(setup.server)
  const credit = (await account.wallet()).balance
  // So many answers in one piece that the lane knows how long they take.
  for (let answers = 1; answers <= 8; answers++) {
    expect((await send(setup.server, account, BODY)).status).toBe(200)
    await until(async () => (await account.receipts()).filter(({ state }) => state === 'settled').length === answers)
  }
  const spent = credit - (await account.wallet()).balance

  resolver.answers = false
  const receivedBefore = resolver.receivedRequest
  const controller = new AbortController()
  const response = send(setup.server, account, BODY, { signal: controller.signal })
  response.catch(() => {})
  await until(() => resolver.receivedRequest > receivedBefore)
  setup.server.advance(5000)
  controller.abort()
  const receipt = await until(async () => (await account.receipts()).find(({ outcome }) => outcome === 'client_gone'))
  expect(receipt).toMatchObject({ state: 'released', charge_nano: 0n })
  expect(credit - (await account.wallet()).balance).toBe(spent)
  await expectBalancedLedger(setup.server)
})
