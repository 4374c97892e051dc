import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, errorBody, reply, usageChunk, WHOLE_TEXT } from '../../fakes/chat-frames.ts'
import { delivered } from '../../fakes/delivered.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { readStream } from '../../support/read-stream.ts'
import { answerOf, chat, hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { until } from '../../support/until.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './remote-provider-server.ts'

const throttled =
  (retryAfter: string): Script =>
  async (providerAnswer) => {
    await providerAnswer.head(429, { 'retry-after': retryAfter })
    await providerAnswer.bytes(JSON.stringify(errorBody('Slow down.')))
    await providerAnswer.end()
  }

/** Every choice uses the whole cap. */
async function threeChoices(providerAnswer: ProviderAnswer): Promise<void> {
  const usage = { prompt_tokens: 11, completion_tokens: 60, total_tokens: 71 }
  const words = 'w'.repeat(500)
  await providerAnswer.head()
  if (providerAnswer.delivery === 'json') {
    const choices = [0, 1, 2].map((index) => ({
      index,
      message: { role: 'assistant', content: words },
      finish_reason: 'length',
    }))
    await providerAnswer.bytes(JSON.stringify({ ...reply(providerAnswer.model), choices, usage }))
  } else {
    for (const index of [0, 1, 2])
      await providerAnswer.frames({
        ...chunk(providerAnswer.model, {}),
        choices: [{ index, delta: { content: words }, finish_reason: null }],
      })
    await delivered()
    for (const index of [2, 0, 1])
      await providerAnswer.frames({
        ...chunk(providerAnswer.model, {}),
        choices: [{ index, delta: {}, finish_reason: 'length' }],
      })
    await providerAnswer.frames(usageChunk(providerAnswer.model, usage), '[DONE]')
  }
  await providerAnswer.end()
}

/** Two choices have words; only one says why it ended. */
async function oneOfTwo(providerAnswer: ProviderAnswer): Promise<void> {
  await providerAnswer.head()
  for (const index of [0, 1])
    await providerAnswer.frames({
      ...chunk(providerAnswer.model, {}),
      choices: [{ index, delta: { content: 'w' }, finish_reason: null }],
    })
  await providerAnswer.frames(chunk(providerAnswer.model, { finish: 'stop' }), '[DONE]')
  await providerAnswer.end()
}

/** It takes no effort, and without one it fails as well. */
async function effortless(providerAnswer: ProviderAnswer): Promise<void> {
  const refuses = providerAnswer.receivedRequest.reasoning_effort !== undefined
  await providerAnswer.head(refuses ? 400 : 503)
  const words = refuses ? "Unsupported parameter: 'reasoning_effort'" : 'Overloaded.'
  await providerAnswer.bytes(JSON.stringify(errorBody(words)))
  await providerAnswer.end()
}

const scripts: Record<string, Script> = {
  good: (providerAnswer) => FAULTS.healthy(providerAnswer),
  slow: throttled('30'),
  slower: throttled('90'),
  broken: (providerAnswer) => FAULTS.reset(providerAnswer, 'before'),
  'broken-2': (providerAnswer) => FAULTS.reset(providerAnswer, 'before'),
  full: (providerAnswer) => FAULTS['refused-503'](providerAnswer, 'before'),
  'full-2': (providerAnswer) => FAULTS['refused-503'](providerAnswer, 'before'),
  'full-3': (providerAnswer) => FAULTS['refused-503'](providerAnswer, 'before'),
  picky: (providerAnswer) => FAULTS['cap-refused'](providerAnswer, 'before'),
  tools: (providerAnswer) => FAULTS['odd-tool-calls'](providerAnswer),
  learner: (providerAnswer) => FAULTS['max-tokens-refused'](providerAnswer, 'before'),
  hanging: (providerAnswer) => FAULTS.hang(providerAnswer, 'before'),
  choosy: threeChoices,
  effortless,
  'one-of-two': oneOfTwo,
}

let setup: RemoteSetup
beforeAll(async () => {
  setup = await startRemoteSetup(
    scripts,
    {
      throttled: { lanes: ['slower', 'slow'] },
      mixed: { lanes: ['slow', 'picky'] },
      'full-thrice': { lanes: ['full', 'full-2', 'full-3', 'good'] },
      'broken-twice': { lanes: ['broken', 'broken-2', 'good'] },
      'full-then-broken': { lanes: ['full', 'broken', 'good'] },
      tools: { lanes: ['tools'] },
      learner: { lanes: ['learner'] },
      hanging: { lanes: ['hanging'] },
      'hanging-first': { lanes: ['hanging', 'good'] },
      'one-of-two': { lanes: ['one-of-two'], more: 'choices_max: 2,' },
      choosy: { lanes: ['choosy'], more: 'choices_max: 3,' },
      'effortless-first': { lanes: ['effortless', 'good'] },
    },
    { config: 'streams: { silence_before_head: 20ms, keep_alive: 20ms }', timeouts: 'idle: 1s' },
  )
})
afterEach(async () => {
  setup.far.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

const receiptOf = (account: Awaited<ReturnType<typeof openAccount>>) =>
  until(async () => (await account.receipts()).find(({ state }) => state !== 'open'))

const attemptsOf = ({ attempts }: { attempts: string | null }) =>
  (JSON.parse(attempts ?? '[]') as { lane: string; outcome: string; status?: number }[]).map(
    ({ lane, outcome, status }) => [lane, outcome, status ?? null],
  )

describe('failover', () => {
  it('answers upstream_busy with the shortest Retry-After when all lanes throttle', async () => {
    const account = await openAccount(setup.server)
    const answer = await chat(setup.server, account, { model: 'throttled' })
    expect([answer.status, answer.json.error.code]).toEqual([429, 'upstream_busy'])
    expect(answer.headers.get('retry-after')).toBe('30')
    expect(answer.json.error.message).toMatch(/try again in 30s\.$/)
    expect(attemptsOf(await receiptOf(account))).toEqual([
      ['far/slower', 'throttled', 429],
      ['far/slow', 'throttled', 429],
    ])
  })

  it('answers server_is_overloaded when lanes fail in different ways', async () => {
    const account = await openAccount(setup.server)
    const answer = await chat(setup.server, account, { model: 'mixed' })
    expect([answer.status, answer.json.error.code]).toEqual([503, 'server_is_overloaded'])
  })

  it('names the fields dropped for the lane that answered', async () => {
    const account = await openAccount(setup.server)
    const answer = await chat(setup.server, account, { model: 'effortless-first', reasoning_effort: 'high' })
    expect(
      setup.far.providerAnswers.map((providerAnswer) => [
        providerAnswer.model,
        providerAnswer.receivedRequest.reasoning_effort,
      ]),
    ).toEqual([
      ['effortless', 'high'],
      ['effortless', undefined],
      ['good', 'high'],
    ])
    expect([answer.status, answer.headers.get('x-millrace-ignored-fields')]).toEqual([200, null])
    expect(attemptsOf(await receiptOf(account))).toEqual([
      ['far/effortless', 'unsupported-field', 400],
      ['far/effortless', 'failed', 503],
      ['far/good', 'finished', 200],
    ])
  })

  it('tries three lanes at most; the receipt names the last one', async () => {
    const account = await openAccount(setup.server)
    const answer = await chat(setup.server, account, { model: 'full-thrice' })
    expect(answer.status).toBe(503)
    const receipt = await receiptOf(account)
    expect(attemptsOf(receipt).map(([lane]) => lane)).toEqual(['far/full', 'far/full-2', 'far/full-3'])
    expect(receipt.lane).toBe('far/full-3')
  })

  it.each([true, false])(
    'tries one more lane after a provider that may have done the work, stream: %s',
    async (stream) => {
      const account = await openAccount(setup.server)
      const broken = await send(setup.server, account, { model: 'broken-twice', stream, messages: hello() })
      // On a busy machine the head has gone by then: the words are the same in either form.
      expect(await broken.text()).toContain('"server_is_overloaded"')
      expect(setup.far.providerAnswers.map(({ model }) => model)).toEqual(['broken', 'broken-2'])
      expect(await receiptOf(account)).toMatchObject({ state: 'released', charge_nano: 0n, lane: 'far/broken-2' })
      setup.far.forget()
      const answer = await send(setup.server, account, { model: 'full-then-broken', stream, messages: hello() })
      expect(answer.status).toBe(200)
      expect(await answer.text()).not.toContain('"error"')
      expect(setup.far.providerAnswers.map(({ model }) => model)).toEqual(['full', 'broken', 'good'])
    },
  )

  it('fails over after the head was sent, as long as there is no content', async () => {
    const account = await openAccount(setup.server)
    const response = await send(setup.server, account, {
      model: 'hanging-first',
      stream: true,
      messages: hello(),
    })
    const answer = await readStream(response)
    expect(answer.frames[0]).toBe(': keep-alive')
    expect([answer.text, answer.done]).toEqual([WHOLE_TEXT, true])
    expect(attemptsOf(await receiptOf(account)).map(([lane]) => lane)).toEqual(['far/hanging', 'far/good'])
  })

  it('ends with an uncharged error frame when the head was sent and no lane is left', async () => {
    const account = await openAccount(setup.server)
    const response = await send(setup.server, account, {
      model: 'hanging',
      stream: true,
      messages: hello(),
    })
    expect(response.status).toBe(200)
    const answer = await readStream(response)
    expect([answer.text, answer.done]).toEqual(['', false])
    expect(answer.chunks).toHaveLength(1)
    expect(answer.chunks[0].error).toMatchObject({ code: 'upstream_timeout', request_id: answer.requestId })
    expect(answer.chunks[0].error.message).toContain('Nothing was charged')
    expect(await receiptOf(account)).toMatchObject({ state: 'released', outcome: 'upstream_failed', charge_nano: 0n })
  })
})

describe('a lane', () => {
  it('is retried once when it rejects the name of the cap, and never again afterwards', async () => {
    const account = await openAccount(setup.server)
    const request = { model: 'learner', max_tokens: 50 }
    expect((await chat(setup.server, account, request)).status).toBe(200)
    expect(
      setup.far.providerAnswers.map(({ receivedRequest }) => [
        receivedRequest.max_tokens,
        receivedRequest.max_completion_tokens,
      ]),
    ).toEqual([
      [50, undefined],
      [undefined, 50],
    ])
    expect(attemptsOf(await receiptOf(account))).toEqual([
      ['far/learner', 'unsupported-field', 400],
      ['far/learner', 'finished', 200],
    ])
    setup.far.forget()
    expect((await chat(setup.server, account, request)).status).toBe(200)
    expect(
      setup.far.providerAnswers.map(({ receivedRequest }) => [
        receivedRequest.max_tokens,
        receivedRequest.max_completion_tokens,
      ]),
    ).toEqual([[undefined, 50]])
  })

  it.each([true, false])('gets its tool calls repaired, stream: %s', async (stream) => {
    const account = await openAccount(setup.server)
    const response = await send(setup.server, account, {
      model: 'tools',
      stream,
      messages: hello(),
    })
    const calls = stream
      ? collectCalls((await readStream(response)).chunks)
      : (await answerOf(response)).json.choices[0].message.tool_calls
    expect(calls).toMatchObject([
      {
        id: expect.stringMatching(/^call_/),
        type: 'function',
        function: { name: 'look_up', arguments: '{"city":"Rome"}' },
      },
      { id: 'given', type: 'function', function: { name: 'count', arguments: '{"n":2}' } },
    ])
  })

  it.each([true, false])('may use its cap for each choice, stream: %s', async (stream) => {
    const account = await openAccount(setup.server)
    const request = { model: 'choosy', stream, n: 3, max_tokens: 20, messages: hello() }
    const response = await send(setup.server, account, request)
    if (stream) expect((await readStream(response)).done).toBe(true)
    else expect((await answerOf(response)).json.choices).toHaveLength(3)
    expect(await receiptOf(account)).toMatchObject({ outcome: 'completed', output: 60, estimated: 0 })
  })

  it('has finished only when every choice has', async () => {
    const account = await openAccount(setup.server)
    const request = { model: 'one-of-two', stream: true, n: 2, messages: hello() }
    const answer = await readStream(await send(setup.server, account, request))
    expect(answer.done).toBe(false)
    expect(answer.chunks.at(-1).error.code).toBe('upstream_error')
    expect(await receiptOf(account)).toMatchObject({ outcome: 'upstream_failed', state: 'settled' })
  })
})

interface CallFragment {
  readonly index: number
  readonly id?: string
  readonly type?: string
  readonly function: { readonly name?: string; readonly arguments?: string }
}

/** As a strict client gathers them: by index, the first fragment with id, type and name. */
function collectCalls(chunks: readonly { choices: { delta: { tool_calls?: CallFragment[] } }[] }[]) {
  const calls: { id: string; type: string; function: { name: string; arguments: string } }[] = []
  for (const fragment of chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])) {
    const { index, id, type, function: called } = fragment
    const known = calls[index]
    if (known) known.function.arguments += called.arguments ?? ''
    else calls[index] = { id: id!, type: type!, function: { name: called.name!, arguments: called.arguments ?? '' } }
  }
  return calls
}
