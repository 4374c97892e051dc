import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { shutDown } from '../../../src/app/shutdown.ts'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, reply, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { requestsEnded } from '../../support/read-metrics.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from '../faults/remote-provider-server.ts'
import { open, sendTurn, wholeOf } from './keyed.ts'

const REPORTED_NANO = 7n * 1000n + 4n * 250n + 7n * 2000n

/** What the provider waits for before it goes on. */
let goOn = () => {}
const pause = () =>
  new Promise<void>((resolve) => {
    goOn = resolve
  })

const opening = async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.head()
  await providerAnswer.frames(chunk(providerAnswer.model, { delta: { role: 'assistant', content: '' } }))
}
const emit = (providerAnswer: ProviderAnswer, words: readonly string[]) =>
  providerAnswer.frames(...words.map((content) => chunk(providerAnswer.model, { delta: { content } })))
const finish = async (providerAnswer: ProviderAnswer) => {
  await providerAnswer.frames(
    chunk(providerAnswer.model, { finish: 'stop' }),
    usageChunk(providerAnswer.model, USAGE),
    '[DONE]',
  )
  await providerAnswer.end()
}

const scripts: Record<string, Script> = {
  async slowly(providerAnswer) {
    if (providerAnswer.delivery === 'json') {
      await pause()
      await providerAnswer.head()
      await providerAnswer.bytes(JSON.stringify(reply(providerAnswer.model)))
      return providerAnswer.end()
    }
    await opening(providerAnswer)
    await emit(providerAnswer, WORDS.slice(0, 2))
    await pause()
    await emit(providerAnswer, WORDS.slice(2))
    await finish(providerAnswer)
  },
  async breaking(providerAnswer) {
    await opening(providerAnswer)
    await emit(providerAnswer, WORDS.slice(0, 2))
    await pause()
    providerAnswer.reset()
  },
  async refusing(providerAnswer) {
    await providerAnswer.head(429, { 'retry-after': '7' })
    await providerAnswer.bytes('{"error":{"message":"slow down"}}')
    await providerAnswer.end()
  },
}

let setup: RemoteSetup
const openServer = async () => {
  setup = await startRemoteSetup(
    scripts,
    Object.fromEntries(Object.keys(scripts).map((name) => [name, { lanes: [name] }])),
  )
}
beforeAll(openServer)
afterEach(async () => {
  setup.far.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

const messages = [{ role: 'user', content: 'Good morning' }]
const bodyOf = (model: string, stream: boolean) => ({
  model,
  messages,
  ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
})

const closedReceipt = async (account: Awaited<ReturnType<typeof openAccount>>) => {
  const receipt = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
  expect(await account.receipts()).toHaveLength(1)
  return receipt
}

describe('with an idempotency key', () => {
  it.each([
    { when: 'before the head of a JSON answer', stream: false, reads: false },
    { when: 'in the middle of a stream', stream: true, reads: true },
  ])('a client that disconnects $when pays for the whole answer and gets it on retry', async ({ stream, reads }) => {
    const account = await openAccount(setup.server)
    const controller = new AbortController()
    const receivedRequest = { key: account.key, idempotencyKey: `gone-${stream}` }
    const body = bodyOf('slowly', stream)
    const first = open(setup.server, { ...receivedRequest, signal: controller.signal }, body)
    first.catch(() => {})
    if (reads) await (await first).body?.getReader().read()
    const providerAnswer = await until(() => setup.far.providerAnswers[0])
    await until(async () => (await account.receipts()).length === 1)
    const before = await requestsEnded(setup.server)
    controller.abort()
    // Another request while it runs is told to wait, whether the first client is still connected or not.
    const early = await sendTurn(setup.server, receivedRequest, body)
    expect([early.status, JSON.parse(early.text).error.code]).toEqual([409, 'idempotency_in_progress'])
    expect(providerAnswer.socket.destroyed).toBe(false)
    goOn()
    expect(await closedReceipt(account)).toMatchObject({
      ...{ state: 'settled', outcome: 'completed', charge_nano: REPORTED_NANO, estimated: 0 },
    })
    await until(async () => (await requestsEnded(setup.server)) > before + 1)

    const again = await sendTurn(setup.server, receivedRequest, body)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    if (stream) expect(again.text).toMatch(/Good .*morning.* to.* you.*"usage".*\[DONE\]\n\n$/s)
    else expect(JSON.parse(again.text).choices[0].message.content).toBe('Good morning to you')
    expect((await sendTurn(setup.server, receivedRequest, body)).bytes.equals(again.bytes)).toBe(true)
    expect(await account.receipts()).toHaveLength(1)
    expect(setup.far.providerAnswers).toHaveLength(1)
  })

  it.each([true, false])(
    'an answer that broke off after content is charged and replayed; client connected: %s',
    async (stays) => {
      const account = await openAccount(setup.server)
      const controller = new AbortController()
      const receivedRequest = { key: account.key, idempotencyKey: `broke-${stays}` }
      const body = bodyOf('breaking', true)
      const response = await open(setup.server, { ...receivedRequest, signal: controller.signal }, body)
      if (!stays) {
        await response.body?.getReader().read()
        controller.abort()
      }
      await until(() => setup.far.providerAnswers[0])
      goOn()
      const seen = stays ? await wholeOf(response) : undefined
      const receipt = await closedReceipt(account)
      expect(receipt).toMatchObject({ state: 'settled', outcome: 'upstream_failed' })
      expect(receipt.charge_nano).toBeGreaterThan(0n)
      const again = await until(async () => {
        const answer = await sendTurn(setup.server, receivedRequest, body)
        return answer.status === 200 && answer
      })
      expect(again.headers.get('x-original-request-id')).toBe(receipt.request_id)
      if (seen) expect(again.bytes.equals(seen.bytes)).toBe(true)
      const frames = again.text.split('\n\n').filter((frame) => frame !== '')
      expect(JSON.parse(frames.at(-1)!.slice('data: '.length))).toMatchObject({
        error: { code: 'upstream_error', request_id: receipt.request_id },
      })
      expect(again.text).not.toContain('[DONE]')
      expect(setup.far.providerAnswers).toHaveLength(1)
    },
  )

  it('an uncharged failure is not kept; the next request calls the provider', async () => {
    const account = await openAccount(setup.server)
    const receivedRequest = { key: account.key, idempotencyKey: 'busy' }
    for (const times of [1, 2]) {
      expect((await sendTurn(setup.server, receivedRequest, bodyOf('refusing', true))).status).toBe(429)
      expect(setup.far.providerAnswers).toHaveLength(times)
    }
    for (const receipt of await account.receipts()) expect(receipt).toMatchObject({ state: 'released' })
  })
})

describe('shutdown', () => {
  it.each([
    { stream: true, code: 'idempotency_not_replayable', charged: 'cannot be given again, and is never run again' },
    { stream: false, code: undefined, charged: 'had cost nothing, and may be asked for again' },
  ])('a cancelled answer $charged', async ({ stream, code }) => {
    await setup.close()
    await openServer()
    const account = await openAccount(setup.server)
    const receivedRequest = { key: account.key, idempotencyKey: 'cut' }
    const body = bodyOf('slowly', stream)
    const first = open(setup.server, receivedRequest, body)
    await until(() => setup.far.providerAnswers[0])
    if (stream) await first
    setup.server.serving.abortTurns()
    await wholeOf(await first)
    expect(await closedReceipt(account)).toMatchObject({ outcome: 'drained', state: stream ? 'settled' : 'released' })
    const again = open(setup.server, receivedRequest, body)
    if (code === undefined) {
      await until(() => setup.far.providerAnswers[1])
      goOn()
    }
    const answer = await wholeOf(await again)
    if (code === undefined) expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
    else expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([409, code])
  })

  it('an answer whose client disconnected is finished and kept', async () => {
    await setup.close()
    await openServer()
    const account = await openAccount(setup.server)
    const controller = new AbortController()
    const receivedRequest = { key: account.key, idempotencyKey: 'patience' }
    const first = open(setup.server, { ...receivedRequest, signal: controller.signal }, bodyOf('slowly', true))
    await (await first).body?.getReader().read()
    controller.abort()
    const report = shutDown({
      ...{ edge: setup.server.serving, drainMs: 60_000, lingerMs: 0, settleMs: 10_000, report: () => {} },
      nextSignal: () => new Promise(() => {}),
      close: async () => {},
    })
    await until(() => setup.far.providerAnswers[0])
    goOn()
    expect(await report).toMatchObject({ lost: 0 })
    expect(await closedReceipt(account)).toMatchObject({ outcome: 'completed', charge_nano: REPORTED_NANO })
    const { db } = setup.server.app.operations
    expect(await db.selectFrom('claims').select('state').execute()).toEqual([{ state: 'kept' }])
  })
})
