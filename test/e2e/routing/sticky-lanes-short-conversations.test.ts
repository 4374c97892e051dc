import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { chat, hello } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

const LANES = {
  weighed: '{ upstream: far, model: heavy, weight: 3 }, { upstream: far, model: light, weight: 1 }',
  ordered: '{ upstream: far, model: first, priority: 1 }, { upstream: far, model: second, priority: 2 }',
}
const down = new Set<string>()

let far: FaultUpstream
let server: TestServer
beforeAll(async () => {
  far = await startFaultUpstream(
    (model) => (providerAnswer) =>
      down.has(model) ? FAULTS['refused-500'](providerAnswer, 'before') : FAULTS.healthy(providerAnswer),
  )
  const models = Object.entries(LANES).map(
    ([id, lanes]) =>
      `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [${lanes}] }\n`,
  )
  server = await startServer({
    config: `upstreams:\n  - { id: far, wire: chat, base_url: "${far.baseUrl}", allow_private: true }\nmodels:\n${models.join('')}`,
  })
})
afterEach(async () => {
  down.clear()
  far.forget()
  await expectBalancedLedger(server)
})
afterAll(async () => {
  await server?.close()
  await far?.close()
})

const receivedRequest = () => far.providerAnswers.map(({ model }) => model)
const timesOf = (model: string) => receivedRequest().filter((name) => name === model).length

describe('conversations with the same short beginning', () => {
  it('are distributed by weight', async () => {
    const account = await openAccount(server)
    for (let count = 0; count < 300; count++) await chat(server, account, { model: 'weighed' })
    expect(timesOf('heavy') + timesOf('light')).toBe(300)
    // Five standard deviations are 37.5.
    expect(Math.abs(timesOf('heavy') - 225)).toBeLessThan(38)
  })

  it('return to the first lane when it recovers', async () => {
    const account = await openAccount(server)
    down.add('first')
    await chat(server, account, { model: 'ordered' })
    down.clear()
    await chat(server, account, { model: 'ordered' })
    expect(receivedRequest()).toEqual(['first', 'second', 'first'])
  })

  it('stay on their lane for twenty turns', async () => {
    const account = await openAccount(server)
    for (let conversation = 0; conversation < 3; conversation++) {
      far.forget()
      const messages = [...hello()]
      for (let turn = 0; turn < 20; turn++) {
        const { json } = await chat(server, account, { model: 'weighed', messages })
        messages.push(
          { ...json.choices[0].message, content: `Of ${conversation}.` },
          { role: 'user', content: `Turn ${turn}` },
        )
      }
      expect(receivedRequest()).toEqual(Array.from({ length: 20 }, () => receivedRequest()[0]))
    }
  })
})

it('a conversation with a cached prefix returns to its lane', async () => {
  const account = await openAccount(server)
  for (let opening = 0; opening < 8; opening++) {
    const messages = hello(`${opening} ${'All of this was said before. '.repeat(300)}`)
    await chat(server, account, { model: 'weighed', messages })
    await chat(server, account, { model: 'weighed', messages })
    expect(receivedRequest().at(-1)).toBe(receivedRequest().at(-2))
  }
})
