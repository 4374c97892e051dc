import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { delivered } from '../../fakes/delivered.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import type { Wire } from '../endings/provider-frames.ts'
import { playSteps, type Step } from '../endings/provider-steps.ts'

/** As an operator writes them, without a word on what a hang-up means: these dialects may hide reasoning. */
const LANES: Readonly<Record<Wire, string>> = {
  chat: 'dialect: openai',
  responses: 'dialect: openai',
  anthropic: 'dialect: anthropic',
  gemini: 'dialect: gemini',
}
const WIRES = Object.keys(LANES) as Wire[]
const CLIENTS = ['chat', 'responses'] as const
const DELIVERIES = ['stream', 'json'] as const

/** What the provider has said when its client goes; it would go on when it is told to. */
const SAID: Readonly<Record<string, readonly Step[]>> = {
  'its head': ['head', 'role'],
  'a few words': ['head', 'role', 'word', 'word'],
}
const MOMENTS = Object.keys(SAID)
const REST: readonly Step[] = ['word', 'word', 'stop', 'usage', 'done']
const modelOf = (wire: Wire, moment: number) => `${wire}-${moment}`

const pauses = { count: 0, release: () => {} }
let far: FaultUpstream
let server: TestServer

beforeAll(async () => {
  far = await startFaultUpstream((model) => (providerAnswer) => play(providerAnswer, model))
  const upstreams = WIRES.map(
    (wire) =>
      `  - { id: ${wire}, wire: ${wire}, ${LANES[wire]}, base_url: "http://127.0.0.1:${far.port}/v1", allow_private: true }`,
  )
  const models = WIRES.flatMap((wire) =>
    MOMENTS.map(
      (_, at) =>
        `  - { id: ${modelOf(wire, at)}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", cached_input: "0.25", output: "2.00" }, lanes: [{ upstream: ${wire}, model: ${modelOf(wire, at)} }] }`,
    ),
  )
  server = await startServer({
    config: `${EVERY_LANE_ASKED}\nupstreams:\n${upstreams.join('\n')}\nmodels:\n${models.join('\n')}\n`,
  })
})
afterEach(async () => {
  pauses.release()
  far.forget()
  await expectBalancedLedger(server)
})
afterAll(async () => {
  await server?.close()
  await far?.close()
})

/** A provider that is asked for JSON says nothing before it has the whole of it. */
function play(providerAnswer: ProviderAnswer, model: string): Promise<void> {
  const [wire = 'chat', moment = '0'] = model.split('-')
  const wait = () =>
    Promise.race([
      providerAnswer.closed,
      new Promise<void>((resolve) => {
        pauses.count += 1
        pauses.release = resolve
      }),
    ])
  const isRelayedJson = providerAnswer.delivery === 'json' && (wire === 'chat' || wire === 'responses')
  const before = isRelayedJson ? [] : (SAID[MOMENTS[Number(moment)] ?? ''] ?? [])
  const after: readonly Step[] = isRelayedJson ? ['head', 'half', 'rest'] : REST.slice(Number(moment) * 2)
  return playSteps(providerAnswer, { wire: wire as Wire, steps: [...before, 'pause', ...after], wait })
}

interface Received {
  readonly wire: Wire
  readonly client: (typeof CLIENTS)[number]
  readonly delivery: (typeof DELIVERIES)[number]
  readonly moment: number
  readonly idempotencyKey?: string
}

/** Asks, waits until the provider has said what it says, and hangs up. */
async function hangUp({ wire, client, delivery, moment, idempotencyKey }: Received) {
  const account = await openAccount(server)
  const credit = (await account.wallet()).balance
  const controller = new AbortController()
  const words = 'Say good morning, please.'
  const body = {
    ...{ model: modelOf(wire, moment), stream: delivery === 'stream' },
    ...(client === 'chat' ? { messages: [{ role: 'user', content: words }] } : { input: words }),
  }
  pauses.count = 0
  const answer = fetch(`${server.baseUrl}${client === 'chat' ? '/chat/completions' : '/responses'}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${account.key}`,
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: controller.signal,
  })
  answer.then((response) => response.text()).catch(() => {})
  const providerAnswer = await until(() => far.providerAnswers[0])
  await until(() => pauses.count === 1)
  // What was said has come as far as it goes.
  await delivered()
  controller.abort()
  return { providerAnswer, account, credit }
}

const closedReceipts = (account: Awaited<ReturnType<typeof openAccount>>) =>
  until(async () => {
    const rows = await account.receipts()
    return rows.length > 0 && rows.every(({ state }) => state !== 'open') && rows
  })

const CASES = WIRES.flatMap((wire) =>
  CLIENTS.flatMap((client) =>
    DELIVERIES.flatMap((delivery) => MOMENTS.map((emitted, moment) => ({ wire, client, delivery, moment, emitted }))),
  ),
)

describe('by default, a client disconnect', () => {
  it.each(CASES)(
    'over $wire, $client $delivery, after $emitted, cancels the provider call and is charged once',
    async (receivedRequest) => {
      const { providerAnswer, account, credit } = await hangUp(receivedRequest)
      // The provider sees it while it still has everything to send: the test does not let it go on.
      await providerAnswer.closed
      const receipts = await closedReceipts(account)
      expect(receipts).toHaveLength(1)
      const [receipt] = receipts
      expect(receipt).toMatchObject({ outcome: 'client_gone', shortfall_nano: 0n })
      // A JSON answer that is handed on as it comes has no head before it is whole.
      const wasAccepted = providerAnswer.delivery === 'stream' || !(receivedRequest.wire === receivedRequest.client)
      expect(receipt?.state).toBe(wasAccepted ? 'settled' : 'released')
      if (wasAccepted) expect(receipt).toMatchObject({ estimated: 1 })
      if (wasAccepted) expect(receipt?.charge_nano).toBeGreaterThan(0n)
      if (wasAccepted && receivedRequest.moment === 1) expect(receipt?.output).toBeGreaterThan(0)
      expect(receipt?.charge_nano).toBeLessThanOrEqual(receipt?.hold_nano ?? 0n)
      const { balance, held } = await account.wallet()
      expect([credit - balance, held]).toEqual([receipt?.charge_nano, 0n])
      expect(far.providerAnswers).toHaveLength(1)
    },
  )

  it.each(WIRES.flatMap((wire) => CLIENTS.map((client) => ({ wire, client }))))(
    'over $wire, $client, with an Idempotency-Key does not cancel',
    async ({ wire, client }) => {
      const idempotencyKey = `${wire}-${client}`
      const { providerAnswer, account } = await hangUp({ wire, client, delivery: 'stream', moment: 1, idempotencyKey })
      await delivered()
      expect(providerAnswer.socket.destroyed).toBe(false)
      pauses.release()
      const [receipt] = await closedReceipts(account)
      expect(receipt).toMatchObject({ state: 'settled', outcome: 'completed', estimated: 0 })
    },
  )
})
