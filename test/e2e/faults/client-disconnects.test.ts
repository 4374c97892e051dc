import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { chunk, reply, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import type { Talk } from '../../fakes/answers.ts'
import { send } from '../../support/send-chat.ts'
import { framesOf } from '../../support/read-stream.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { MESSAGES } from './send-to-faulty.ts'
import { type FarHouse, startFarHouse } from './remote-provider-server.ts'

const INPUT_NANO = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify(MESSAGES)) / 4)) * 1000n
/** Each of its words is a frame, and as long as a token. */
const PRODUCED_NANO = 2n * 2000n
const REPORTED_NANO = 7n * 1000n + 4n * 250n + 7n * 2000n

let tellUsage = () => {}
const opening = async (talk: Talk) => {
  await talk.head()
  await talk.frames(chunk(talk.model, { delta: { role: 'assistant', content: '' } }))
}
const twoWords = (talk: Talk) =>
  talk.frames(...WORDS.slice(0, 2).map((content) => chunk(talk.model, { delta: { content } })))

const scripts: Record<string, Script> = {
  second: (talk) => scripts.talking!(talk),
  silent: async () => {},
  'head-only': opening,
  async talking(talk) {
    await opening(talk)
    await twoWords(talk)
  },
  async finishing(talk) {
    await opening(talk)
    await twoWords(talk)
    await talk.frames(chunk(talk.model, { finish: 'stop' }))
    await new Promise<void>((resolve) => {
      tellUsage = resolve
    })
    await talk.frames(usageChunk(talk.model, USAGE), '[DONE]')
    await talk.end()
  },
  async 'half-json'(talk) {
    await talk.head()
    await talk.bytes(JSON.stringify(reply(talk.model)).slice(0, 100))
  },
}

let house: FarHouse
beforeAll(async () => {
  house = await startFarHouse(
    scripts,
    Object.fromEntries(
      Object.keys(scripts)
        .filter((name) => name !== 'second')
        .map((name) => [name, { lanes: [name, 'second'] }]),
    ),
  )
})
afterEach(async () => {
  house.far.forget()
  await expectBalancedLedger(house.server)
})
afterAll(() => house?.close())

const talkOf = () => until(() => house.far.talks[0])

async function receiptOf(account: TestAccount) {
  const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
  expect(await account.receipts()).toHaveLength(1)
  return receipt
}

async function ask(model: string, stream: boolean) {
  const account = await openAccount(house.server)
  const controller = new AbortController()
  const response = send(house.server, account, { model, stream, messages: MESSAGES }, { signal: controller.signal })
  response.catch(() => {})
  return { account, response, hangUp: () => controller.abort() }
}

describe('a client that hangs up', () => {
  it.each([
    { model: 'silent', stream: true },
    { model: 'silent', stream: false },
  ])('pays nothing while the provider has said nothing, stream: $stream; the provider is cut', async (asked) => {
    const { account, hangUp } = await ask(asked.model, asked.stream)
    const talk = await talkOf()
    hangUp()
    await talk.closed
    expect(await receiptOf(account)).toMatchObject({ state: 'released', outcome: 'client_gone', charge_nano: 0n })
    expect(house.far.talks).toHaveLength(1)
  })

  it.each([
    { model: 'head-only', stream: true },
    { model: 'half-json', stream: false },
  ])('pays the input once the provider has accepted ($model); no other lane is asked', async ({ model, stream }) => {
    const { account, hangUp } = await ask(model, stream)
    const talk = await talkOf()
    await delivered()
    hangUp()
    await talk.closed
    expect(await receiptOf(account)).toMatchObject({
      state: 'settled',
      outcome: 'client_gone',
      charge_nano: INPUT_NANO,
      estimated: 1,
    })
    expect(house.far.talks).toHaveLength(1)
  })

  it('pays what was produced in the middle of a stream; the provider is cut', async () => {
    const { account, response, hangUp } = await ask('talking', true)
    await readUntil(await response, WORDS[1])
    hangUp()
    await (await talkOf()).closed
    expect(await receiptOf(account)).toMatchObject({
      state: 'settled',
      outcome: 'client_gone',
      charge_nano: INPUT_NANO + PRODUCED_NANO,
    })
  })

  it('pays the whole by the provider’s count after the finish reason: it is awaited', async () => {
    const { account, response, hangUp } = await ask('finishing', true)
    await readUntil(await response, '"stop"')
    hangUp()
    await delivered()
    const talk = await talkOf()
    expect(talk.socket.destroyed).toBe(false)
    tellUsage()
    expect(await receiptOf(account)).toMatchObject({ state: 'settled', charge_nano: REPORTED_NANO, estimated: 0 })
  })
})

async function readUntil(response: Response, words: string): Promise<void> {
  const frames = framesOf(response)
  for (let read = await frames.next(); !read.done; read = await frames.next()) if (read.value.includes(words)) return
  throw new Error(`${words} never came`)
}
