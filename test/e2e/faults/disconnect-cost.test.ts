import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, reply, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { openRawSocket } from '../../support/raw-socket.ts'
import { framesOf } from '../../support/read-stream.ts'
import { send } from '../../support/send-chat.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './remote-provider-server.ts'
import { MESSAGES } from './send-to-faulty.ts'

const INPUT = BigInt(Math.ceil(Buffer.byteLength(JSON.stringify(MESSAGES)) / 4)) * 1000n
/** Each of its words is a frame, and as long as a token. */
const PRODUCED = INPUT + 2n * 2000n
const ALL_PRODUCED = INPUT + BigInt(WORDS.length) * 2000n
const COUNTED = 7n * 1000n + 4n * 250n + 7n * 2000n
const NOTHING = 0n

/** Providers that wait in the middle of an answer until they are told to go on, or are cut. */
const waiting = new Set<() => void>()
const goOn = () => {
  for (const resume of waiting) resume()
  waiting.clear()
}
const pause = (providerAnswer: ProviderAnswer) =>
  Promise.race([providerAnswer.closed, new Promise<void>((resolve) => void waiting.add(() => resolve()))])

const saying = (providerAnswer: ProviderAnswer, words: readonly string[]) =>
  providerAnswer.frames(...words.map((content) => chunk(providerAnswer.model, { delta: { content } })))
const opening = async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.head()
  await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', content: '' } }))
}
const closing = async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.frames(usageChunk(providerAnswer.model, USAGE), '[DONE]')
  await providerAnswer.end()
}
const finish = (providerAnswer: ProviderAnswer) =>
  providerAnswer.frames(chunk(providerAnswer.model, { finish: 'stop' }))
const whole = (providerAnswer: ProviderAnswer) => JSON.stringify(reply(providerAnswer.model))

/** When the client hangs up, by what the provider has said until then. */
const scripts = {
  async silent(providerAnswer) {
    await pause(providerAnswer)
    if (providerAnswer.delivery === 'stream') return
    await providerAnswer.head()
    await providerAnswer.bytes(whole(providerAnswer))
    await providerAnswer.end()
  },
  async begun(providerAnswer) {
    await opening(providerAnswer)
    await pause(providerAnswer)
    await saying(providerAnswer, WORDS)
    await finish(providerAnswer)
    await closing(providerAnswer)
  },
  async talking(providerAnswer) {
    await opening(providerAnswer)
    await saying(providerAnswer, WORDS.slice(0, 2))
    await pause(providerAnswer)
    await saying(providerAnswer, WORDS.slice(2))
    await finish(providerAnswer)
    await closing(providerAnswer)
  },
  async finished(providerAnswer) {
    await opening(providerAnswer)
    await saying(providerAnswer, WORDS)
    await finish(providerAnswer)
    await pause(providerAnswer)
    await closing(providerAnswer)
  },
  async half(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.bytes(whole(providerAnswer).slice(0, 100))
    await pause(providerAnswer)
    await providerAnswer.bytes(whole(providerAnswer).slice(100))
    await providerAnswer.end()
  },
  async 'breaks-before'(providerAnswer) {
    await opening(providerAnswer)
    await pause(providerAnswer)
    providerAnswer.reset()
  },
  async 'breaks-after'(providerAnswer) {
    await opening(providerAnswer)
    await saying(providerAnswer, WORDS.slice(0, 2))
    await pause(providerAnswer)
    providerAnswer.reset()
  },
  async 'breaks-json'(providerAnswer) {
    await providerAnswer.head()
    await pause(providerAnswer)
    providerAnswer.reset()
  },
} satisfies Record<string, Script>
type Moment = keyof typeof scripts

/** What stands in an upstream's entry. */
const LANES = {
  unsaid: '',
  estimate: 'on_client_gone: cancel_estimate',
  drain: 'on_client_gone: drain',
  free: 'on_client_gone: cancel_free',
  hidden: 'dialect: openai',
  'hidden-drain': 'dialect: openai, on_client_gone: drain',
} as const
type LaneName = keyof typeof LANES
const LANE_NAMES = Object.keys(LANES) as LaneName[]
/** Nothing is learned of it before its estimates are looked at. */
const UNLEARNED = 'unlearned'
const DRAINED: readonly LaneName[] = ['drain', 'hidden-drain']

let setup: RemoteSetup
beforeAll(async () => {
  const upstreams: Record<string, string> = { ...LANES, [UNLEARNED]: LANES.drain }
  const models = Object.keys(upstreams).flatMap((upstream) =>
    Object.keys(scripts).map((moment) => [
      `${upstream}-${moment}`,
      { upstream, lanes: [moment], more: 'efforts: [],' },
    ]),
  )
  setup = await startRemoteSetup(scripts, Object.fromEntries(models), { upstreams })
})
afterEach(async () => {
  goOn()
  setup.far.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

/** The only receipt, once it is closed; the wallet has paid what it says and holds nothing. */
async function receiptOf(account: TestAccount, credit: bigint) {
  const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
  expect(await account.receipts()).toHaveLength(1)
  const { balance, held } = await account.wallet()
  expect([credit - balance, held]).toEqual([receipt.charge_nano, 0n])
  return receipt
}

/** Asks, waits for the moment, and hangs up. */
async function hangUp(lane: LaneName | typeof UNLEARNED, moment: Moment, delivery: 'stream' | 'json') {
  const account = await openAccount(setup.server)
  const credit = (await account.wallet()).balance
  const controller = new AbortController()
  const body = { model: `${lane}-${moment}`, stream: delivery === 'stream', messages: MESSAGES }
  const response = send(setup.server, account, body, { signal: controller.signal })
  response.catch(() => {})
  const providerAnswer = await until(() => setup.far.providerAnswers[0])
  await until(() => waiting.size === 1)
  if (moment === 'talking' || moment === 'breaks-after') await readUntil(await response, WORDS[1])
  // The finish reason waits for what comes behind it.
  if (moment === 'finished') await readUntil(await response, WORDS.at(-1)!)
  await delivered()
  controller.abort()
  await delivered()
  return { providerAnswer, receipt: () => receiptOf(account, credit) }
}

async function readUntil(response: Response, words: string): Promise<void> {
  for (const frames = framesOf(response); ; ) {
    const { value, done } = await frames.next()
    if (done) throw new Error(`${words} never came`)
    if (value.includes(words)) return
  }
}

const expectCut = async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.closed
  expect(setup.far.providerAnswers).toHaveLength(1)
}
const expectReadOn = async (providerAnswer: ProviderAnswer) => {
  expect(providerAnswer.socket.destroyed).toBe(false)
  goOn()
}

describe.each(LANE_NAMES)('a client that disconnects from a lane with on_client_gone %s', (lane) => {
  const drained = DRAINED.includes(lane)
  const produced = (amount: bigint) => (lane === 'free' ? NOTHING : amount)

  it('pays nothing before the stream starts; the call is cancelled', async () => {
    const { providerAnswer, receipt } = await hangUp(lane, 'silent', 'stream')
    await expectCut(providerAnswer)
    expect(await receipt()).toMatchObject({ state: 'released', outcome: 'client_gone', charge_nano: NOTHING })
  })

  it.each([
    ['begun', 'stream', INPUT],
    ['talking', 'stream', PRODUCED],
    ['half', 'json', INPUT],
  ] as const)('pays by the lane’s policy in mid-answer (%s, %s)', async (moment, delivery, estimate) => {
    const { providerAnswer, receipt } = await hangUp(lane, moment, delivery)
    await (drained ? expectReadOn(providerAnswer) : expectCut(providerAnswer))
    expect(await receipt()).toMatchObject({
      state: lane === 'free' ? 'released' : 'settled',
      outcome: 'client_gone',
      charge_nano: drained ? COUNTED : produced(estimate),
    })
    // It serves the next call: an answer that was read to its end leaves its connection as good as new.
    expect(providerAnswer.socket.destroyed).toBe(!drained)
  })

  it('pays for an unstarted JSON answer only when it is drained', async () => {
    const { providerAnswer, receipt } = await hangUp(lane, 'silent', 'json')
    await (drained ? expectReadOn(providerAnswer) : expectCut(providerAnswer))
    expect(await receipt()).toMatchObject({
      state: drained ? 'settled' : 'released',
      outcome: 'client_gone',
      charge_nano: drained ? COUNTED : NOTHING,
    })
  })

  it('pays the whole after the finish reason even without usage', async () => {
    const { providerAnswer, receipt } = await hangUp(lane, 'finished', 'stream')
    expect(providerAnswer.socket.destroyed).toBe(false)
    setup.server.serving.abortTurns()
    await expectCut(providerAnswer)
    expect(await receipt()).toMatchObject({ outcome: 'completed', charge_nano: ALL_PRODUCED, estimated: 1 })
  })

  it('pays the whole answer by the provider’s usage after the finish reason', async () => {
    const { providerAnswer, receipt } = await hangUp(lane, 'finished', 'stream')
    await expectReadOn(providerAnswer)
    expect(await receipt()).toMatchObject({
      state: 'settled',
      outcome: 'completed',
      charge_nano: COUNTED,
      estimated: 0,
    })
  })
})

describe('a provider that is drained after a disconnect', () => {
  it.each([
    ['talking', 'stream', PRODUCED],
    ['begun', 'stream', INPUT],
    ['half', 'json', INPUT],
    ['silent', 'json', NOTHING],
  ] as const)(
    'is cancelled after a minute; what is known by then is charged (%s, %s)',
    async (moment, delivery, due) => {
      const { providerAnswer, receipt } = await hangUp(UNLEARNED, moment, delivery)
      setup.server.advance(59_000)
      await delivered()
      expect(providerAnswer.socket.destroyed).toBe(false)
      setup.server.advance(1_001)
      await expectCut(providerAnswer)
      expect(await receipt()).toMatchObject({ outcome: 'client_gone', charge_nano: due })
    },
  )

  it.each([
    ['talking', 'stream', PRODUCED],
    ['half', 'json', INPUT],
  ] as const)('is cancelled when the server stops (%s, %s)', async (moment, delivery, due) => {
    const { providerAnswer, receipt } = await hangUp(UNLEARNED, moment, delivery)
    expect(setup.server.serving.turnsRunning).toBe(1)
    setup.server.serving.abortTurns()
    await expectCut(providerAnswer)
    expect(await receipt()).toMatchObject({ outcome: 'client_gone', charge_nano: due })
  })

  it.each([
    ['breaks-before', 'stream', 'upstream_failed', NOTHING],
    ['breaks-after', 'stream', 'client_gone', PRODUCED],
    ['breaks-json', 'json', 'upstream_failed', NOTHING],
  ] as const)('may fail by itself (%s, %s)', async (moment, delivery, outcome, due) => {
    const { providerAnswer, receipt } = await hangUp(UNLEARNED, moment, delivery)
    await expectReadOn(providerAnswer)
    expect(await receipt()).toMatchObject({ outcome, charge_nano: due })
    expect(setup.far.providerAnswers).toHaveLength(1)
  })

  it('takes one of a hundred drain slots, at most half per account; without a slot the charge is an estimate', async () => {
    const accounts = await Promise.all([1, 2, 3].map(() => openAccount(setup.server, { credit: '100' })))
    const [first, second, third] = accounts as [TestAccount, TestAccount, TestAccount]
    const cut = () => setup.far.providerAnswers.filter(({ socket }) => socket.destroyed).length
    const hangUpAll = async (account: TestAccount, count: number) => {
      const before = waiting.size
      const receivedRequest = JSON.stringify({ model: `${UNLEARNED}-talking`, stream: true, messages: MESSAGES })
      const sockets = await Promise.all(Array.from({ length: count }, () => sendRaw(account, receivedRequest)))
      await until(() => waiting.size === before + count)
      await Promise.all(sockets.map((socket) => until(() => socket.received.includes(WORDS[1]))))
      for (const socket of sockets) socket.destroy()
    }
    const settled = (cutOnes: number, running: number) =>
      until(() => cut() === cutOnes && setup.server.serving.turnsRunning === running)

    await hangUpAll(first, 60)
    await settled(10, 50)
    await hangUpAll(second, 50)
    await settled(10, 100)
    await hangUpAll(third, 3)
    await settled(13, 100)
    goOn()
    const chargesOf = async (account: TestAccount, count: number) => {
      const charges = (await closedReceipts(account, count)).map(({ charge_nano }) => charge_nano)
      const exact = charges.filter((charge) => charge === COUNTED).length
      return { exact, estimated: charges.filter((charge) => charge === PRODUCED).length }
    }
    const [ofFirst, ofSecond] = [await chargesOf(first, 60), await chargesOf(second, 50)]
    expect(await chargesOf(third, 3)).toEqual({ exact: 3, estimated: 0 })
    expect(ofFirst.exact + ofSecond.exact).toBe(97)
    expect([ofFirst.exact + ofFirst.estimated, ofSecond.exact + ofSecond.estimated]).toEqual([60, 50])
  })
})

async function sendRaw(account: TestAccount, body: string) {
  const socket = await openRawSocket(setup.server)
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\n` +
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
  return socket
}

const closedReceipts = (account: TestAccount, count: number) =>
  until(async () => {
    const receipts = await account.receipts()
    return receipts.length === count && receipts.every(({ state }) => state !== 'open') && receipts
  })
