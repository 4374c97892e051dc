import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../../fakes/answers.ts'
import { chunk, errorBody, reply, USAGE, usageChunk } from '../../fakes/chat-frames.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { readStream } from '../../support/read-stream.ts'
import { hello, send } from '../../support/send-chat.ts'
import { openAccount } from '../../support/test-account.ts'
import { expectBalancedLedger } from '../../support/use-server.ts'
import { type RemoteSetup, startRemoteSetup } from './remote-provider-server.ts'

const WHOLE = '{"path":"a.ts"}'
const BROKEN = '{"path":"a.ts"}}'
/** Of the answer that the client gets, and of no other. */
const CHARGE_NANO = 7n * 1000n + 4n * 250n + 7n * 2000n

async function chatCall(answer: ProviderAnswer, { text, before = '' }: { text: string; before?: string }) {
  const { model } = answer
  const call = { index: 0, id: 'call_far', type: 'function', function: { name: 'read', arguments: text } }
  await answer.head()
  if (answer.delivery === 'json') {
    const message = { content: null, tool_calls: [call] }
    await answer.bytes(JSON.stringify(reply(model, { message, finish: 'tool_calls' })))
  } else {
    if (before !== '') await answer.frames(chunk(model, { delta: { role: 'assistant', content: before } }))
    const pieces = [text.slice(0, 4), text.slice(4)]
    const first = { ...call, function: { name: 'read', arguments: '' } }
    await answer.frames(chunk(model, { delta: { role: 'assistant', tool_calls: [first] } }))
    for (const piece of pieces)
      await answer.frames(chunk(model, { delta: { tool_calls: [{ index: 0, function: { arguments: piece } }] } }))
    await answer.frames(chunk(model, { finish: 'tool_calls' }), usageChunk(model, USAGE), '[DONE]')
  }
  await answer.end()
}

async function messagesCall(answer: ProviderAnswer, text: string) {
  const content_block = { type: 'tool_use', id: 'toolu_far', name: 'read', input: {} }
  const usage = { input_tokens: 7, cache_read_input_tokens: 4, output_tokens: 7 }
  const message = { id: 'msg_far', type: 'message', role: 'assistant', model: answer.model, content: [], usage }
  await answer.head()
  await answer.events(
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
    { type: 'message_stop' },
  )
  await answer.end()
}

/** The arguments of the first calls that a test makes are broken, as often as it says. */
let slips = 0
const argumentsNow = () => (slips-- > 0 ? BROKEN : WHOLE)

async function overloaded(answer: ProviderAnswer) {
  await answer.head(503)
  await answer.bytes(JSON.stringify(errorBody('Overloaded.')))
  await answer.end()
}

/** As long as three times the longest frame, as arguments of a token a frame come to. */
async function longCall(answer: ProviderAnswer) {
  const { model } = answer
  const first = { index: 0, id: 'call_far', type: 'function', function: { name: 'read', arguments: '' } }
  const padding = 'x'.repeat(1_000_000)
  await answer.head()
  await answer.frames(chunk(model, { delta: { role: 'assistant', tool_calls: [first] } }))
  for (const piece of WHOLE) {
    const delta = { tool_calls: [{ index: 0, function: { arguments: piece }, padding }] }
    await answer.frames(chunk(model, { delta }))
  }
  await answer.frames(chunk(model, { finish: 'tool_calls' }), usageChunk(model, USAGE), '[DONE]')
  await answer.end()
}

const chatLane: Script = (answer) => chatCall(answer, { text: argumentsNow() })
const scripts: Record<string, Script> = {
  caller: chatLane,
  'caller-2': chatLane,
  claude: (answer) => messagesCall(answer, argumentsNow()),
  talker: (answer) => chatCall(answer, { text: argumentsNow(), before: 'I read the file.' }),
  long: longCall,
  full: overloaded,
  'slip-then-full': (answer) => (slips > 0 ? chatLane(answer) : overloaded(answer)),
}
const RETRY = 'on_broken_tool_arguments: retry,'

let setup: RemoteSetup
beforeAll(async () => {
  setup = await startRemoteSetup(
    scripts,
    {
      plain: { lanes: ['caller'] },
      caller: { lanes: ['caller'], more: RETRY },
      two: { lanes: ['caller', 'caller-2'], more: RETRY },
      claude: { lanes: ['claude'], upstream: 'messages', more: RETRY },
      talker: { lanes: ['talker'], more: RETRY },
      long: { lanes: ['long'], more: RETRY },
      second: { lanes: ['full', 'caller'], more: RETRY },
      'after-all': { lanes: ['slip-then-full', 'caller', 'caller-2'], more: RETRY },
    },
    { upstreams: { far: '', messages: 'wire: anthropic' } },
  )
})
afterEach(async () => {
  setup.far.forget()
  await expectBalancedLedger(setup.server)
})
afterAll(() => setup?.close())

const tools = [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }]
const flatTools = [{ type: 'function', name: 'read', parameters: { type: 'object' } }]

interface Asked {
  readonly responses?: boolean
  readonly stream?: boolean
}

/** Asks for a call; `got` is what the client gets of its arguments, or the code of the problem. */
async function ask(model: string, broken: number, { responses = false, stream = false }: Asked = {}) {
  slips = broken
  const account = await openAccount(setup.server)
  const body = responses
    ? { model, input: 'Hello', tools: flatTools, stream, store: false }
    : { model, messages: hello(), tools, stream }
  const answer = await send(setup.server, account, body, { path: responses ? '/responses' : '/chat/completions' })
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true
  const text = isStream ? (await readStream(answer)).frames.join('\n') : await answer.text()
  const [row] = await account.receipts()
  return {
    got: isStream ? argumentsIn(text, responses) : resultIn(JSON.parse(text), responses),
    text,
    outcomes: JSON.parse(row?.attempts ?? '[]')
      .map(({ lane, outcome }: Attempt) => `${lane.split('/')[1]} ${outcome}`)
      .join(', '),
    charge: row?.charge_nano,
  }
}

interface Attempt {
  readonly lane: string
  readonly outcome: string
}

interface Call {
  readonly arguments: string
}
interface Answer {
  readonly error?: { readonly code: string }
  readonly output: readonly Call[]
  readonly choices: readonly { readonly message: { readonly tool_calls: readonly { readonly function: Call }[] } }[]
}

const resultIn = ({ error, output, choices }: Answer, responses: boolean): string | undefined =>
  error?.code ?? (responses ? output.at(-1) : choices[0]?.message.tool_calls[0]?.function)?.arguments

function argumentsIn(text: string, responses: boolean): string {
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data ?? ''))
  const failed = events.find(({ error }) => error)
  if (failed) return failed.error.code
  return events
    .map((event) =>
      responses
        ? event.type === 'response.function_call_arguments.delta' && event.delta
        : event.choices[0]?.delta.tool_calls?.[0].function.arguments,
    )
    .filter((piece) => typeof piece === 'string')
    .join('')
}

const CASES = ['caller', 'claude'].flatMap((model) => [
  { model, client: 'Chat, JSON', way: {} },
  { model, client: 'Chat, stream', way: { stream: true } },
  { model, client: 'Responses, JSON', way: { responses: true } },
  { model, client: 'Responses, stream', way: { responses: true, stream: true } },
])

describe('tool arguments that are not JSON', () => {
  it('fail the answer unless the entry of the model says otherwise', async () => {
    expect(await ask('plain', 1)).toMatchObject({
      got: 'server_is_overloaded',
      outcomes: 'caller broken-arguments',
      charge: 0n,
    })
    // The arguments were sent as they came.
    const stream = await ask('plain', 1, { stream: true })
    expect(stream).toMatchObject({ got: 'upstream_error', outcomes: 'caller broken-off' })
    expect(stream.text).toContain('a.ts')
    expect(setup.far.providerAnswers).toHaveLength(2)
  })

  it.each(CASES)('are asked for once more: $model, $client', async ({ model, way }) => {
    const answer = await ask(model, 1, way)
    expect(answer).toMatchObject({
      got: WHOLE,
      outcomes: `${model} broken-arguments, ${model} finished`,
      charge: CHARGE_NANO,
    })
    expect(answer.text).not.toContain('}}"')
    const [first, second] = setup.far.providerAnswers.map(({ receivedRequest }) => JSON.stringify(receivedRequest))
    expect(second).toBe(first)
    if (way.responses && way.stream) {
      const numbers = [...answer.text.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number))
      expect(numbers).toEqual(numbers.map((_, at) => at))
    }
  })

  it.each(CASES)('fail the answer the second time, and cost nothing: $model, $client', async ({ model, way }) => {
    expect(await ask(model, 2, way)).toMatchObject({
      got: 'server_is_overloaded',
      outcomes: `${model} broken-arguments, ${model} broken-arguments`,
      charge: 0n,
    })
  })

  it('go to the same lane, and to no third', async () => {
    expect(await ask('two', 1)).toMatchObject({ got: WHOLE, outcomes: 'caller broken-arguments, caller finished' })
    const outcomes = 'caller broken-arguments, caller broken-arguments'
    expect(await ask('two', 2)).toMatchObject({ got: 'server_is_overloaded', outcomes, charge: 0n })
  })

  it('are asked for once, even if other lanes fail before or after', async () => {
    expect(await ask('second', 1)).toMatchObject({
      got: WHOLE,
      outcomes: 'full failed, caller broken-arguments, caller finished',
      charge: CHARGE_NANO,
    })
    // The lane that is left may still be called, because the second call was refused. Its slip is the end.
    slips = 0
    expect(await ask('after-all', 1)).toMatchObject({
      got: WHOLE,
      outcomes: 'slip-then-full broken-arguments, slip-then-full failed, caller finished',
      charge: CHARGE_NANO,
    })
  })

  it('are not looked for in vain where a held call is long', async () => {
    expect(await ask('long', 0, { stream: true })).toMatchObject({ got: WHOLE, outcomes: 'long finished' })
  })

  it('fail a stream that has sent text before the call', async () => {
    for (const responses of [false, true]) {
      const answer = await ask('talker', 1, { responses, stream: true })
      expect(answer).toMatchObject({ got: 'upstream_error', outcomes: 'talker broken-off' })
      expect(answer.text).toContain('I read the file.')
    }
    expect(setup.far.providerAnswers).toHaveLength(2)
    // A JSON answer has sent nothing.
    expect(await ask('talker', 1)).toMatchObject({ got: WHOLE, charge: CHARGE_NANO })
  })
})
