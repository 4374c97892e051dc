import { describe, expect, it } from 'vitest'
import type { ReceiptsTable } from '../../../src/db/tables.ts'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, errorBody, reply, USAGE, usageChunk, WORDS } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { framesOf, readStream } from '../../support/read-stream.ts'
import { hello, send } from '../../support/send-chat.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { priced, tokensOf, tokensOfWords, useScriptedUpstreams } from './scripted-server.ts'

const QUESTION = hello('Say good morning, please: it is early, and nobody has said it yet.')
const INPUT = tokensOf(JSON.stringify(QUESTION))
const REPORTED = priced({ input: 7, cached: 4, output: 7 })

/** Every event of a whole answer, in order. */
const eventsOf = (model: string): readonly (object | string)[] => [
  chunk(model, { delta: { role: 'assistant', content: '' } }),
  ...WORDS.map((content) => chunk(model, { delta: { content } })),
  chunk(model, { finish: 'stop' }),
  usageChunk(model, USAGE),
  '[DONE]',
]
const EVENTS = eventsOf('').length
/** Behind the role and the words. */
const FINISH_AT = 1 + WORDS.length

/** The provider stops after `stopAt` events until it is told that the client has gone. */
const scene = { stopAt: 0, disconnected: Promise.resolve() }

async function stepwise(providerAnswer: ProviderAnswer): Promise<void> {
  await providerAnswer.head()
  for (const [at, event] of eventsOf(providerAnswer.model).entries()) {
    if (at === scene.stopAt) await scene.disconnected
    await providerAnswer.frames(event)
  }
  if (scene.stopAt === EVENTS) await scene.disconnected
  await providerAnswer.end()
}

/** The same for a JSON answer, by the bytes of its body; below zero the head is not sent either. */
async function bitwise(providerAnswer: ProviderAnswer): Promise<void> {
  const body = JSON.stringify(reply(providerAnswer.model))
  if (scene.stopAt < 0) await scene.disconnected
  await providerAnswer.head()
  await providerAnswer.bytes(body.slice(0, Math.max(1, scene.stopAt)))
  await scene.disconnected
  await providerAnswer.bytes(body.slice(Math.max(1, scene.stopAt)))
  await providerAnswer.end()
}
const JSON_BYTES = JSON.stringify(reply('bitwise')).length

const scripts: Record<string, Script> = {
  stepwise,
  bitwise,
  silent: async () => {},
  reset: (providerAnswer) => FAULTS.reset(providerAnswer, 'before'),
  async 'head-then-reset'(providerAnswer) {
    await providerAnswer.head()
    await delivered()
    providerAnswer.reset()
  },
  'cut-in-words': (providerAnswer) => FAULTS.reset(providerAnswer, 'after'),
  async 'long-refusal'(providerAnswer) {
    await providerAnswer.head(500)
    await providerAnswer.bytes(JSON.stringify(errorBody('All our servers are on fire. '.repeat(200))))
    await providerAnswer.end()
  },
  async 'error-in-words'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.frames(chunk(providerAnswer.model, { delta: { content: WORDS[0] } }))
    await delivered()
    await providerAnswer.frames(errorBody('All our servers are on fire. '.repeat(200)))
    await providerAnswer.end()
  },
  async 'head-only'(providerAnswer) {
    await providerAnswer.head()
    await providerAnswer.end()
  },
}

const setup = useScriptedUpstreams(scripts)

function stopAt(events: number): () => void {
  let goOn = () => {}
  const disconnected = new Promise<void>((resolve) => {
    goOn = resolve
  })
  Object.assign(scene, { stopAt: events, disconnected })
  return goOn
}

/** The one row of the account, closed; the wallet agrees with it and holds nothing. */
async function onlyRow(account: TestAccount): Promise<ReceiptsTable> {
  const row = await until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))
  expect(await account.receipts()).toHaveLength(1)
  const { balance, held } = await account.wallet()
  expect([10_000_000_000n - balance, held]).toEqual([row.charge_nano, 0n])
  return row
}

const bodyOf = (model: string, stream: boolean) => ({ model, stream, messages: QUESTION })

/** Reads until so many events of the provider's have come, as far as the client gets to see them; then hangs up. */
async function hangUpAfter(account: TestAccount, events: number): Promise<string> {
  const goOn = stopAt(events)
  const controller = new AbortController()
  const receivedRequest = send(setup().server, account, bodyOf('stepwise', true), { signal: controller.signal })
  receivedRequest.catch(() => {})
  let got = ''
  // Until there is a word nothing goes out. The finish reason waits for what comes behind it, which is held back until it is paid for.
  const visible = events < 2 ? 0 : events > FINISH_AT + 1 ? FINISH_AT + 1 : Math.min(events, FINISH_AT)
  if (visible === 0) {
    await until(() => setup().far.providerAnswers.length === 1)
    await delivered()
  } else {
    let seen = 0
    for await (const frame of framesOf(await receivedRequest)) {
      if (!frame.startsWith('data: {')) continue
      got += JSON.parse(frame.slice('data: '.length)).choices[0]?.delta?.content ?? ''
      seen += 1
      if (seen === visible) break
    }
    await delivered()
  }
  controller.abort()
  await delivered()
  goOn()
  return got
}

describe('every ending is one receipt', () => {
  it.each(Array.from({ length: EVENTS + 1 }, (_, events) => events))(
    'A9, A13: a disconnect after %i stream events is one receipt, charged at least for what was delivered',
    async (events) => {
      const account = await openAccount(setup().server)
      const got = await hangUpAfter(account, events)
      const row = await onlyRow(account)
      expect(row.state).toBe('settled')
      expect(row.charge_nano).toBeGreaterThanOrEqual(priced({ input: 7, cached: 4, output: tokensOfWords(got) }))
      expect(row.charge_nano).toBeLessThanOrEqual(row.hold_nano)
      if (events > FINISH_AT) expect(row).toMatchObject({ estimated: 0, charge_nano: REPORTED })
      else {
        expect(row).toMatchObject({ outcome: 'client_gone', estimated: 1 })
        expect(row.charge_nano).toBe(priced({ input: INPUT, output: tokensOfWords(got) }))
      }
    },
  )

  it.each([-1, 0, 20, JSON_BYTES - 1, JSON_BYTES])(
    'A14: a disconnect after %i bytes of a JSON answer is one receipt, free only before the provider accepted',
    async (bytes) => {
      const account = await openAccount(setup().server)
      const goOn = stopAt(bytes)
      const controller = new AbortController()
      const receivedRequest = send(setup().server, account, bodyOf('bitwise', false), { signal: controller.signal })
      const providerAnswer = await until(() => setup().far.providerAnswers[0])
      await delivered()
      controller.abort()
      await expect(receivedRequest).rejects.toThrow()
      // The gateway cancels the provider call: no client waits for it.
      await providerAnswer.closed
      goOn()
      const row = await onlyRow(account)
      if (bytes < 0) expect(row).toMatchObject({ state: 'released', outcome: 'client_gone', charge_nano: 0n })
      else
        expect(row).toMatchObject({
          state: 'settled',
          outcome: 'client_gone',
          estimated: 1,
          charge_nano: priced({ input: INPUT }),
        })
    },
  )

  it('A14: a disconnect after the whole answer is charged by the provider’s usage', async () => {
    const account = await openAccount(setup().server)
    stopAt(JSON_BYTES)()
    const response = await send(setup().server, account, bodyOf('bitwise', false))
    await response.body?.cancel()
    expect(await onlyRow(account)).toMatchObject({ state: 'settled', charge_nano: REPORTED, estimated: 0 })
  })

  it.each([true, false])('A10: an error before content costs nothing (stream: %s)', async (stream) => {
    const account = await openAccount(setup().server)
    const response = await send(setup().server, account, bodyOf('long-refusal', stream))
    expect(response.status).toBe(503)
    await response.text()
    expect(await onlyRow(account)).toMatchObject({ state: 'released', outcome: 'upstream_failed', charge_nano: 0n })
  })

  it('A10: an error after content charges the content only, flagged as an estimate', async () => {
    const account = await openAccount(setup().server)
    const answer = await readStream(await send(setup().server, account, bodyOf('error-in-words', true)))
    expect([answer.text, answer.done]).toEqual([WORDS[0], false])
    expect(await onlyRow(account)).toMatchObject({
      state: 'settled',
      outcome: 'upstream_failed',
      estimated: 1,
      output: tokensOfWords(WORDS[0]),
      charge_nano: priced({ input: INPUT, output: tokensOfWords(WORDS[0]) }),
    })
  })

  const POLICY = [
    { ending: 'the connection broke before the answer', model: 'reset', charge: 0n },
    { ending: 'the answer had a head and no words', model: 'head-then-reset', charge: 0n },
    { ending: 'the answer was empty', model: 'head-only', charge: 0n },
  ]
  it.each(POLICY.flatMap((row) => [true, false].map((stream) => ({ ...row, stream }))))(
    'A11: no output, no charge: $ending (stream: $stream)',
    async ({ model, stream, charge }) => {
      const account = await openAccount(setup().server)
      const response = await send(setup().server, account, bodyOf(model, stream))
      expect(await response.text()).toContain('Nothing was charged')
      expect(response.status).toBe(503)
      expect(await onlyRow(account)).toMatchObject({ state: 'released', charge_nano: charge })
    },
  )

  it('A11: a client that gives up on a silent provider is not charged', async () => {
    const account = await openAccount(setup().server)
    const controller = new AbortController()
    const receivedRequest = send(setup().server, account, bodyOf('silent', true), { signal: controller.signal })
    await until(() => setup().far.providerAnswers[0])
    controller.abort()
    await expect(receivedRequest).rejects.toThrow()
    expect(await onlyRow(account)).toMatchObject({ state: 'released', outcome: 'client_gone', charge_nano: 0n })
  })

  it('A11: a partial answer is charged for its part', async () => {
    const account = await openAccount(setup().server)
    const { text, done } = await readStream(await send(setup().server, account, bodyOf('cut-in-words', true)))
    expect([text, done]).toEqual([WORDS[0] + WORDS[1], false])
    expect(await onlyRow(account)).toMatchObject({ charge_nano: priced({ input: INPUT, output: tokensOfWords(text) }) })
  })

  it.each([true, false])(
    'A19: a client that closes right after the last event was served (stream: %s)',
    async (stream) => {
      for (let turn = 0; turn < 20; turn++) {
        const account = await openAccount(setup().server)
        stopAt(EVENTS)()
        const controller = new AbortController()
        const body = bodyOf(stream ? 'stepwise' : 'bitwise', stream)
        const response = await send(setup().server, account, body, { signal: controller.signal })
        if (stream) {
          for await (const frame of framesOf(response)) if (frame === 'data: [DONE]') break
        } else await response.text()
        controller.abort()
        expect(await onlyRow(account)).toMatchObject({ outcome: 'completed', estimated: 0, charge_nano: REPORTED })
      }
    },
  )
})
