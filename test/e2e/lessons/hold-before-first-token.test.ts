import { randomInt } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { formatUsd, type NanoUsd } from '../../../src/model/money.ts'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, reply, usageChunk } from '../../fakes/chat-frames.ts'
import { fractionsFrom } from '../../fixtures/lib/seeded-random.ts'
import { hello, send } from '../../support/send-chat.ts'
import { advanceToTuesdayNoon, openSubscriber } from '../../support/subscriber.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import {
  boundOf,
  configOf,
  drawnOf,
  LONG_INPUT,
  modelLine,
  priced,
  useScriptedUpstream,
  watchDrawn,
} from './scripted-server.ts'

const AT_ONCE = 100
const AFFORDED = 10
/** Nano-dollars a token of the model that fills an allowance up. */
const FILLER_RATE = 500n
const WINDOW = 10_000_000_000n

/** The provider takes requests and says nothing until the gate is opened; then each answer is as dear as it can be. */
const scene = { open: () => {}, gate: Promise.resolve(), bound: 0, written: false }

function shutGate(bound: number, written: boolean): void {
  const gate = new Promise<void>((resolve) => {
    scene.open = resolve
  })
  Object.assign(scene, { gate, bound, written })
}

async function blocked(providerAnswer: ProviderAnswer): Promise<void> {
  await scene.gate
  const choices = Number(providerAnswer.receivedRequest.n ?? 1)
  const output = Number(providerAnswer.receivedRequest.max_tokens) * choices
  // One word is seen, the rest was thought: all of it runs to the cap.
  await emitAll(providerAnswer, choices, {
    prompt_tokens: scene.bound,
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: scene.written ? scene.bound : 0 },
    completion_tokens_details: { reasoning_tokens: output - choices },
  })
}

async function emitAll(providerAnswer: ProviderAnswer, choices: number, usage: object): Promise<void> {
  const indexes = Array.from({ length: choices }, (_, index) => index)
  await providerAnswer.head()
  if (providerAnswer.delivery === 'json') {
    const written = indexes.map((index) => ({
      index,
      message: { role: 'assistant', content: 'w' },
      finish_reason: 'length',
    }))
    await providerAnswer.bytes(JSON.stringify({ ...reply(providerAnswer.model), choices: written, usage }))
  } else {
    for (const index of indexes)
      await providerAnswer.frames({
        ...chunk(providerAnswer.model, {}),
        choices: [{ index, delta: { content: 'w' }, finish_reason: 'length' }],
      })
    await providerAnswer.frames(usageChunk(providerAnswer.model, usage), '[DONE]')
  }
  await providerAnswer.end()
}

const filler = (providerAnswer: ProviderAnswer) =>
  emitAll(providerAnswer, 1, { prompt_tokens: 1, completion_tokens: providerAnswer.receivedRequest.max_tokens })

const setup = useScriptedUpstream(
  (model) => ({ blocked, filler })[model],
  (baseUrl) =>
    configOf(
      baseUrl,
      [
        modelLine('blocked', ['blocked'], {
          more: 'context_tokens: 100000, max_output_tokens: 2000, choices_max: 4,',
        }),
        modelLine('filler', ['filler'], {
          more: 'context_tokens: 100000000, max_output_tokens: 100000000,',
          price: '{ input: "0", output: "0.50" }',
        }),
      ],
      `plans:\n  - { id: plan, models: ["*"], windows: [{ every: 5h, allowance: "${formatUsd(WINDOW as NanoUsd)}" }] }\n`,
    ),
)
beforeAll(() => advanceToTuesdayNoon(setup().server))

interface Received {
  readonly account: TestAccount
  readonly key: { readonly key: string }
  readonly kind: 'wallet' | 'window' | 'cap'
}

const usd = (nano: bigint): string => formatUsd(nano as NanoUsd)

/** A caller who has exactly this much left of what the name says, and more than enough of everything else. */
const DRAWS: Readonly<Record<string, (left: bigint) => Promise<Received>>> = {
  async wallet(left) {
    const account = await openAccount(setup().server, { credit: usd(left) })
    return { account, key: account, kind: 'wallet' }
  },
  async 'window of a plan'(left) {
    const account = await openSubscriber(setup().server, 'plan', { credit: '100.00' })
    const body = { model: 'filler', max_tokens: Number((WINDOW - left) / FILLER_RATE), messages: hello() }
    await (await send(setup().server, account.builder, body)).json()
    return { account, key: account.builder, kind: 'window' }
  },
  async 'spend cap of a key'(left) {
    const account = await openAccount(setup().server, { credit: '100.00' })
    return { account, key: await account.createKey({ caps: { day: usd(left) } }), kind: 'cap' }
  },
}

interface Shape {
  readonly choices: number
  readonly written: boolean
  readonly long: boolean
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'hidden reasoning to the cap': { choices: 1, written: false, long: false },
  'three choices': { choices: 3, written: false, long: false },
  'a prompt that is written to the cache whole': { choices: 1, written: true, long: false },
  'the long tier': { choices: 1, written: false, long: true },
  'all of that': { choices: 3, written: true, long: true },
}

const CASES = Object.keys(DRAWS).flatMap((draw) => Object.keys(SHAPES).map((shape) => ({ draw, shape })))

const bodyOf = ({ choices, long }: Shape, cap?: number) => ({
  model: 'blocked',
  messages: hello(long ? 'w'.repeat(LONG_INPUT) : 'Hello'),
  n: choices,
  ...(cap === undefined ? {} : { max_tokens: cap }),
})

/** All at once, every other one a stream. Resolves to the statuses when the last one has been answered. */
function sendAll({ key }: Received, body: object, onRefused: () => void): Promise<number[]> {
  return Promise.all(
    Array.from({ length: AT_ONCE }, async (_, index) => {
      const response = await send(setup().server, key, index % 2 === 0 ? body : { ...body, stream: true })
      if (response.status !== 200) onRefused()
      await response.text()
      return response.status
    }),
  )
}

async function runBlocked(receivedRequest: Received, shape: Shape, cap?: number) {
  const { server, far } = setup()
  const body = bodyOf(shape, cap)
  // A stream's body is longer by that word, and the longer one bounds what both may be.
  shutGate(boundOf(body), shape.written)
  far.forget()
  let refused = 0
  const all = sendAll(receivedRequest, body, () => {
    refused += 1
  })
  const decided = until(() => far.providerAnswers.length + refused === AT_ONCE)
  const moments = await watchDrawn(server, receivedRequest.account.id, decided)
  const openAtOnce = far.providerAnswers.length
  const before = await drawnOf(server, receivedRequest.account.id)
  scene.open()
  const statuses = watchDrawn(server, receivedRequest.account.id, all)
  return { statuses: await all, openAtOnce, before, moments: moments + (await statuses) }
}

/** What was charged is what has left; nothing ran beyond its hold, and nothing is below zero. */
async function expectPaid({ account, kind }: Received, before: Awaited<ReturnType<typeof drawnOf>>, served: number) {
  const receipts = (await account.receipts()).filter(({ model }) => model === 'blocked')
  expect(receipts).toHaveLength(served)
  const charged = receipts.reduce((sum, { charge_nano }) => sum + charge_nano!, 0n)
  expect(receipts.filter(({ state, outcome }) => state !== 'settled' || outcome !== 'completed')).toEqual([])
  expect(receipts.filter(({ shortfall_nano, estimated }) => shortfall_nano !== 0n || estimated !== 0)).toEqual([])
  for (const drawn of await drawnOf(setup().server, account.id)) {
    const then = before.find(({ name }) => name === drawn.name)!
    expect(drawn.held_nano).toBe(0n)
    expect(drawn.posted_nano).toBeGreaterThanOrEqual(0n)
    if (drawn.kind === kind || (kind === 'cap' && drawn.kind === 'wallet'))
      expect(then.posted_nano - drawn.posted_nano).toBe(charged)
    else expect(drawn.posted_nano).toBe(then.posted_nano)
  }
  return charged
}

async function turnsOfTheLoop(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await nextTurn()
}

describe('the hold comes before the provider call', () => {
  it('A1: of a hundred concurrent requests on a wallet for ten, ten reach the provider and the wallet ends at zero', async () => {
    const shape = SHAPES['hidden reasoning to the cap']!
    const cap = 200
    // All of one form here, so that the hold of each is what it will cost to the last nano-dollar.
    const body = bodyOf(shape, cap)
    shutGate(boundOf(body), true)
    const cost = priced({ written: boundOf(body), output: cap })
    const account = await openAccount(setup().server, { credit: usd(cost * BigInt(AFFORDED)) })
    const receivedRequest = Promise.all(Array.from({ length: AT_ONCE }, () => send(setup().server, account, body)))
    const refused = receivedRequest.then((answers) => answers.filter(({ status }) => status === 429))
    await until(() => setup().far.providerAnswers.length === AFFORDED)
    scene.open()
    expect(setup().far.providerAnswers).toHaveLength(AFFORDED)
    const answers = await receivedRequest
    await Promise.all(answers.map((answer) => answer.text()))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(AFFORDED)
    expect((await refused).length).toBeGreaterThan(0)
    expect(await account.wallet()).toEqual({ balance: 0n, held: 0n, available: 0n })
  })

  it('A2: free, held and charged amounts always sum to the deposits', async () => {
    const seed = randomInt(2 ** 32)
    const random = fractionsFrom(seed)
    shutGate(40, false)
    scene.open()
    const account = await openAccount(setup().server, { credit: '0.06' })
    const oneTurn = async () => {
      const body = bodyOf(SHAPES['three choices']!, 1 + Math.floor(random() * 300))
      const controller = new AbortController()
      const answer = send(setup().server, account, { ...body, stream: random() < 0.5 }, { signal: controller.signal })
      const patience = random() < 0.4 ? Math.floor(random() * 200) : undefined
      if (patience !== undefined) void turnsOfTheLoop(patience).then(() => controller.abort())
      await answer.then((response) => response.text()).catch(() => {})
    }
    const inTurn = async () => {
      for (let turn = 0; turn < 15; turn++) await oneTurn()
    }
    const moments = await watchDrawn(setup().server, account.id, Promise.all(Array.from({ length: 10 }, inTurn)))
    await until(async () => (await account.receipts()).every(({ state }) => state !== 'open'))
    const receipts = await account.receipts()
    const states = receipts.map(({ state }) => state)
    console.info(
      `seed ${seed}: ${moments} moments, ${states.filter((state) => state === 'settled').length} settled, ` +
        `${states.filter((state) => state === 'released').length} released, of 150`,
    )
    expect(moments).toBeGreaterThan(20)
    const charged = receipts.reduce((sum, { charge_nano }) => sum + charge_nano!, 0n)
    expect((await account.wallet()).balance).toBe(60_000_000n - charged)
  })

  it.each(CASES)(
    'A3: with a stuck provider and a cap, at most ten holds are open on the $draw: $shape',
    async ({ draw, shape: name }) => {
      const shape = SHAPES[name]!
      const cap = 200
      const body = { ...bodyOf(shape, cap), stream: true }
      const dearest = priced({ written: boundOf(body), output: cap * shape.choices })
      const receivedRequest = await DRAWS[draw]!(dearest * BigInt(AFFORDED))
      const { statuses, openAtOnce, before, moments } = await runBlocked(receivedRequest, shape, cap)
      expect(moments).toBeGreaterThan(0)
      expect(openAtOnce).toBe(AFFORDED)
      // Who came after the gate had opened may have found what was left over.
      const served = statuses.filter((status) => status === 200).length
      expect(served).toBe(AFFORDED)
      const charged = await expectPaid(receivedRequest, before, served)
      const cost = priced({
        [shape.written ? 'written' : 'input']: boundOf(bodyOf(shape, cap)),
        output: cap * shape.choices,
      })
      expect(charged).toBe(cost * BigInt(served))
    },
  )

  it.each(CASES)('A3: without a cap, open holds never exceed the $draw: $shape', async ({ draw, shape: name }) => {
    const shape = SHAPES[name]!
    const body = { ...bodyOf(shape), stream: true }
    const receivedRequest = await DRAWS[draw]!(priced({ written: boundOf(body), output: 2000 * shape.choices }) * 3n)
    const { statuses, openAtOnce, before } = await runBlocked(receivedRequest, shape)
    expect(openAtOnce).toBeGreaterThan(2)
    expect(openAtOnce).toBeLessThan(AT_ONCE)
    await expectPaid(receivedRequest, before, statuses.filter((status) => status === 200).length)
  })
})
