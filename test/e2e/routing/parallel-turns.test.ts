import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, usageChunk } from '../../fakes/chat-frames.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { hello, send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'

let far: FaultUpstream
let server: TestServer
let account: TestAccount
/** They answer when the test wants them to. */
let areSilent = false
beforeAll(async () => {
  far = await startFaultUpstream(() => async (providerAnswer) => {
    if (areSilent) return
    await begin(providerAnswer)
    await end(providerAnswer)
  })
  server = await startServer({
    config: `upstreams:\n  - { id: far, wire: chat, base_url: "${far.baseUrl}", allow_private: true }\nmodels:\n  - { id: even, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: far, model: one }, { upstream: far, model: two }] }\n`,
  })
  account = await openAccount(server)
})
afterEach(() => expectBalancedLedger(server))
afterAll(async () => {
  await server?.close()
  await far?.close()
})

async function begin(providerAnswer: ProviderAnswer): Promise<void> {
  await providerAnswer.head()
  await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: 'Hi' } }))
}

async function end(providerAnswer: ProviderAnswer): Promise<void> {
  await providerAnswer.frames(
    chunk(providerAnswer.model, { finish: 'stop' }),
    usageChunk(providerAnswer.model, { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 }),
    '[DONE]',
  )
  await providerAnswer.end()
}

const sendTurn = (prompt_cache_key: string) =>
  send(server, account, { model: 'even', stream: true, prompt_cache_key, messages: hello() })

/** Two turns at once, of which the second ends last; returns whom they asked. */
async function overlappingPair(key: string): Promise<readonly [string, string]> {
  areSilent = true
  far.forget()
  const answers = [sendTurn(key), sendTurn(key)]
  await until(() => far.providerAnswers.length === 2)
  const [first, second] = far.providerAnswers as [ProviderAnswer, ProviderAnswer]
  await begin(first)
  await Promise.race(answers)
  await begin(second)
  await Promise.all(answers)
  await end(first)
  await end(second)
  for (const answer of answers) await (await answer).text()
  areSilent = false
  return [first.model, second.model]
}

/** Two lanes of one weight: every other pair asks both. */
const PAIRS_APART = 3

it('parallel turns of a conversation stay on one lane', async () => {
  let apart = 0
  for (let conversation = 0; apart < PAIRS_APART; conversation++) {
    const key = `conversation-${conversation}`
    const [first, second] = await overlappingPair(key)
    if (first === second) continue
    apart++
    far.forget()
    for (let turn = 0; turn < 20; turn++) await (await sendTurn(key)).text()
    expect(far.providerAnswers.map(({ model }) => model)).toEqual(Array.from({ length: 20 }, () => first))
  }
})
