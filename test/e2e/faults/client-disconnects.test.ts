import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, reply, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { framesOf } from '../../support/read-stream.ts'
import { send } from '../../support/send-chat.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './remote-provider-server.ts'
import { MESSAGES } from './send-to-faulty.ts'

const INPUT_NANO = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify(MESSAGES)) / 4)) * 1000n
/** Each of its words is a frame, and as long as a token. */
const PRODUCED_NANO = 2n * 2000n
const REPORTED_NANO = 7n * 1000n + 4n * 250n + 7n * 2000n

let emitUsage = () => {}
const opening = async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.head()
  await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', content: '' } }))
}
const twoWords = (providerAnswer: ProviderAnswer) =>
  providerAnswer.frames(...WORDS.slice(0, 2).map((content) => chunk(providerAnswer.model, { delta: { content } })))

const scripts: Record<string, Script> = {
  second: (providerAnswer) => scripts.talking!(providerAnswer),
  silent: async () => {},
  'head-only': opening,
  async talking(providerAnswer) {
    await opening(providerAnswer)
    await twoWords(providerAnswer)
  },
  async finishing(providerAnswer) {
    await opening(providerAnswer)
    await twoWords(providerAnswer)
    await providerAnswer.frames(chunk(providerAnswer.model, { finish: 'stop' }))
    await new Promise<void>((resolve) => {
      emitUsage = resolve
    })
    await providerAnswer.frames(usageChunk(providerAnswer.model, USAGE), '[DONE]')
    await providerAnswer.end()
  },
  async 'half-json'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model)).slice(0, 100))
  },
}

let setup: RemoteSetup
beforeAll(async () => {
  setup = await startRemoteSetup(
    scripts,
    Object.fromEntries(
      Object.keys(scripts)
        .filter((name) => name !== 'second')
        .map((name) => [name, { lanes: [name, 'second'] }]),
    ),
  )
})
afterEach(async () => {
  setup.far.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

const answerOf = () => until(() => setup.far.providerAnswers[0])

async function receiptOf(account: TestAccount) {
  const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
  expect(await account.receipts()).toHaveLength(1)
  return receipt
}

async function sendTurn(model: string, stream: boolean) {
  const account = await openAccount(setup.server)
  const controller = new AbortController()
  const response = send(setup.server, account, { model, stream, messages: MESSAGES }, { signal: controller.signal })
  response.catch(() => {})
  return { account, response, hangUp: () => controller.abort() }
}

describe('a client that disconnects', () => {
  it.each([
    { model: 'silent', stream: true },
    { model: 'silent', stream: false },
  ])('pays nothing before the provider answers, stream: $stream; the call is cancelled', async (receivedRequest) => {
    const { account, hangUp } = await sendTurn(receivedRequest.model, receivedRequest.stream)
    const providerAnswer = await answerOf()
    hangUp()
    await providerAnswer.closed
    expect(await receiptOf(account)).toMatchObject({ state: 'released', outcome: 'client_gone', charge_nano: 0n })
    expect(setup.far.providerAnswers).toHaveLength(1)
  })

  it.each([
    { model: 'head-only', stream: true },
    { model: 'half-json', stream: false },
  ])('pays the input once the provider has accepted ($model); there is no failover', async ({ model, stream }) => {
    const { account, hangUp } = await sendTurn(model, stream)
    const providerAnswer = await answerOf()
    await delivered()
    hangUp()
    await providerAnswer.closed
    expect(await receiptOf(account)).toMatchObject({
      state: 'settled',
      outcome: 'client_gone',
      charge_nano: INPUT_NANO,
      estimated: 1,
    })
    expect(setup.far.providerAnswers).toHaveLength(1)
  })

  it('pays for the output so far in mid-stream; the call is cancelled', async () => {
    const { account, response, hangUp } = await sendTurn('talking', true)
    await readUntil(await response, WORDS[1])
    hangUp()
    await (await answerOf()).closed
    expect(await receiptOf(account)).toMatchObject({
      state: 'settled',
      outcome: 'client_gone',
      charge_nano: INPUT_NANO + PRODUCED_NANO,
    })
  })

  it('pays the whole answer by the provider’s usage after the finish reason', async () => {
    const { account, response, hangUp } = await sendTurn('finishing', true)
    await readUntil(await response, WORDS[1])
    // The finish reason waits for what comes behind it.
    await delivered()
    hangUp()
    await delivered()
    const providerAnswer = await answerOf()
    expect(providerAnswer.socket.destroyed).toBe(false)
    emitUsage()
    expect(await receiptOf(account)).toMatchObject({ state: 'settled', charge_nano: REPORTED_NANO, estimated: 0 })
  })
})

async function readUntil(response: Response, words: string): Promise<void> {
  const frames = framesOf(response)
  for (let read = await frames.next(); !read.done; read = await frames.next()) if (read.value.includes(words)) return
  throw new Error(`${words} never came`)
}
