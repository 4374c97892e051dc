import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { shutDown } from '../../../src/app/shutdown.ts'
import { chunk, reply, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import type { Talk } from '../../fakes/answers.ts'
import { requestsEnded } from '../../support/read-metrics.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type FarHouse, startFarHouse } from '../faults/remote-provider-server.ts'
import { ask, open, wholeOf } from './keyed.ts'

const REPORTED_NANO = 7n * 1000n + 4n * 250n + 7n * 2000n

/** What the provider waits for before it goes on. */
let goOn = () => {}
const pause = () =>
  new Promise<void>((resolve) => {
    goOn = resolve
  })

const opening = async (talk: Talk) => {
  await talk.head()
  await talk.frames(chunk(talk.model, { delta: { role: 'assistant', content: '' } }))
}
const say = (talk: Talk, words: readonly string[]) =>
  talk.frames(...words.map((content) => chunk(talk.model, { delta: { content } })))
const finish = async (talk: Talk) => {
  await talk.frames(chunk(talk.model, { finish: 'stop' }), usageChunk(talk.model, USAGE), '[DONE]')
  await talk.end()
}

const scripts: Record<string, Script> = {
  async slowly(talk) {
    if (talk.delivery === 'json') {
      await pause()
      await talk.head()
      await talk.bytes(JSON.stringify(reply(talk.model)))
      return talk.end()
    }
    await opening(talk)
    await say(talk, WORDS.slice(0, 2))
    await pause()
    await say(talk, WORDS.slice(2))
    await finish(talk)
  },
  async breaking(talk) {
    await opening(talk)
    await say(talk, WORDS.slice(0, 2))
    await pause()
    talk.reset()
  },
  async refusing(talk) {
    await talk.head(429, { 'retry-after': '7' })
    await talk.bytes('{"error":{"message":"slow down"}}')
    await talk.end()
  },
}

let house: FarHouse
const openHouse = async () => {
  house = await startFarHouse(
    scripts,
    Object.fromEntries(Object.keys(scripts).map((name) => [name, { lanes: [name] }])),
  )
}
beforeAll(openHouse)
afterEach(async () => {
  house.far.forget()
  await expectBalancedLedger(house.server)
})
afterAll(() => house?.close())

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
  ])('a client that hangs up $when pays for the whole, and gets it when it asks again', async ({ stream, reads }) => {
    const account = await openAccount(house.server)
    const controller = new AbortController()
    const asked = { key: account.key, idempotencyKey: `gone-${stream}` }
    const body = bodyOf('slowly', stream)
    const first = open(house.server, { ...asked, signal: controller.signal }, body)
    first.catch(() => {})
    if (reads) await (await first).body?.getReader().read()
    const talk = await until(() => house.far.talks[0])
    await until(async () => (await account.receipts()).length === 1)
    const before = await requestsEnded(house.server)
    controller.abort()
    // Whoever asks while it runs is told to wait, whether its client is there or not.
    const early = await ask(house.server, asked, body)
    expect([early.status, JSON.parse(early.text).error.code]).toEqual([409, 'idempotency_in_progress'])
    expect(talk.socket.destroyed).toBe(false)
    goOn()
    expect(await closedReceipt(account)).toMatchObject({
      ...{ state: 'settled', outcome: 'completed', charge_nano: REPORTED_NANO, estimated: 0 },
    })
    await until(async () => (await requestsEnded(house.server)) > before + 1)

    const again = await ask(house.server, asked, body)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    if (stream) expect(again.text).toMatch(/Good .*morning.* to.* you.*"usage".*\[DONE\]\n\n$/s)
    else expect(JSON.parse(again.text).choices[0].message.content).toBe('Good morning to you')
    expect((await ask(house.server, asked, body)).bytes.equals(again.bytes)).toBe(true)
    expect(await account.receipts()).toHaveLength(1)
    expect(house.far.talks).toHaveLength(1)
  })

  it.each([true, false])(
    'an answer that broke off after content is charged, and given again as it was; its client there: %s',
    async (stays) => {
      const account = await openAccount(house.server)
      const controller = new AbortController()
      const asked = { key: account.key, idempotencyKey: `broke-${stays}` }
      const body = bodyOf('breaking', true)
      const response = await open(house.server, { ...asked, signal: controller.signal }, body)
      if (!stays) {
        await response.body?.getReader().read()
        controller.abort()
      }
      await until(() => house.far.talks[0])
      goOn()
      const seen = stays ? await wholeOf(response) : undefined
      const receipt = await closedReceipt(account)
      expect(receipt).toMatchObject({ state: 'settled', outcome: 'upstream_failed' })
      expect(receipt.charge_nano).toBeGreaterThan(0n)
      const again = await until(async () => {
        const answer = await ask(house.server, asked, body)
        return answer.status === 200 && answer
      })
      expect(again.headers.get('x-original-request-id')).toBe(receipt.request_id)
      if (seen) expect(again.bytes.equals(seen.bytes)).toBe(true)
      const frames = again.text.split('\n\n').filter((frame) => frame !== '')
      expect(JSON.parse(frames.at(-1)!.slice('data: '.length))).toMatchObject({
        error: { code: 'upstream_error', request_id: receipt.request_id },
      })
      expect(again.text).not.toContain('[DONE]')
      expect(house.far.talks).toHaveLength(1)
    },
  )

  it('a failure that cost nothing is no answer to keep: the next request asks the provider again', async () => {
    const account = await openAccount(house.server)
    const asked = { key: account.key, idempotencyKey: 'busy' }
    for (const times of [1, 2]) {
      expect((await ask(house.server, asked, bodyOf('refusing', true))).status).toBe(429)
      expect(house.far.talks).toHaveLength(times)
    }
    for (const receipt of await account.receipts()) expect(receipt).toMatchObject({ state: 'released' })
  })
})

describe('the server stops', () => {
  it.each([
    { stream: true, code: 'idempotency_not_replayable', charged: 'cannot be given again, and is never run again' },
    { stream: false, code: undefined, charged: 'had cost nothing, and may be asked for again' },
  ])('an answer that it cut $charged', async ({ stream, code }) => {
    await house.close()
    await openHouse()
    const account = await openAccount(house.server)
    const asked = { key: account.key, idempotencyKey: 'cut' }
    const body = bodyOf('slowly', stream)
    const first = open(house.server, asked, body)
    await until(() => house.far.talks[0])
    if (stream) await first
    house.server.serving.cutTurns()
    await wholeOf(await first)
    expect(await closedReceipt(account)).toMatchObject({ outcome: 'drained', state: stream ? 'settled' : 'released' })
    const again = open(house.server, asked, body)
    if (code === undefined) {
      await until(() => house.far.talks[1])
      goOn()
    }
    const answer = await wholeOf(await again)
    if (code === undefined) expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, null])
    else expect([answer.status, JSON.parse(answer.text).error.code]).toEqual([409, code])
  })

  it('waits for an answer that nobody waits for any more, and keeps it', async () => {
    await house.close()
    await openHouse()
    const account = await openAccount(house.server)
    const controller = new AbortController()
    const asked = { key: account.key, idempotencyKey: 'patience' }
    const first = open(house.server, { ...asked, signal: controller.signal }, bodyOf('slowly', true))
    await (await first).body?.getReader().read()
    controller.abort()
    const report = shutDown({
      ...{ edge: house.server.serving, drainMs: 60_000, lingerMs: 0, settleMs: 10_000, say: () => {} },
      nextSignal: () => new Promise(() => {}),
      close: async () => {},
    })
    await until(() => house.far.talks[0])
    goOn()
    expect(await report).toMatchObject({ lost: 0 })
    expect(await closedReceipt(account)).toMatchObject({ outcome: 'completed', charge_nano: REPORTED_NANO })
    const { db } = house.server.app.operations
    expect(await db.selectFrom('claims').select('state').execute()).toEqual([{ state: 'kept' }])
  })
})
