import { afterAll, beforeAll, expect, it } from 'vitest'
import { reply } from '../../fakes/chat-frames.ts'
import type { Talk } from '../../fakes/answers.ts'
import { send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { MESSAGES } from './send-to-faulty.ts'
import { type FarHouse, startFarHouse } from './remote-provider-server.ts'

const BODY = { model: 'whole', messages: MESSAGES }

const resolver = { answers: true, asked: 0 }
let house: FarHouse
beforeAll(async () => {
  const whole = async (talk: Talk) => {
    house.server.advance(3000)
    await talk.head(200, { connection: 'close' })
    await talk.bytes(JSON.stringify(reply(talk.model)))
    await talk.end()
    talk.close()
  }
  house = await startFarHouse(
    { whole },
    { whole: { lanes: ['whole'] } },
    {
      host: 'far.example',
      overrides: {
        resolveHost() {
          resolver.asked += 1
          return resolver.answers ? Promise.resolve([{ address: '127.0.0.1', family: 4 }]) : new Promise(() => {})
        },
      },
    },
  )
})
afterAll(() => house?.close())

it('costs nobody anything, however long its answers usually take and however long it was waited for', async () => {
  const account = await openAccount(house.server)
  const credit = (await account.wallet()).balance
  // So many answers in one piece that the lane knows how long they take.
  for (let answers = 1; answers <= 8; answers++) {
    expect((await send(house.server, account, BODY)).status).toBe(200)
    await until(async () => (await account.receipts()).filter(({ state }) => state === 'settled').length === answers)
  }
  const spent = credit - (await account.wallet()).balance

  resolver.answers = false
  const askedBefore = resolver.asked
  const controller = new AbortController()
  const response = send(house.server, account, BODY, { signal: controller.signal })
  response.catch(() => {})
  await until(() => resolver.asked > askedBefore)
  house.server.advance(5000)
  controller.abort()
  const receipt = await until(async () => (await account.receipts()).find(({ outcome }) => outcome === 'client_gone'))
  expect(receipt).toMatchObject({ state: 'released', charge_nano: 0n })
  expect(credit - (await account.wallet()).balance).toBe(spent)
  await expectBalancedLedger(house.server)
})
