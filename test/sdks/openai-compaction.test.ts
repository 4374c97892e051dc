import type OpenAI from 'openai'
import { BadRequestError, NotFoundError } from 'openai'
import { describe, expect, it } from 'vitest'
import { openAccount } from '../support/test-account.ts'
import { LANES, useLanes } from './lanes.ts'
import { errorOf, everyOf, openaiFor } from './openai-client.ts'

const setup = useLanes()

type InputItem = OpenAI.Responses.ResponseInputItem

async function open() {
  const account = await openAccount(setup())
  return { account, client: openaiFor(setup(), account) }
}

const emitted = (content: string): InputItem => ({ role: 'user', content })
const TRIGGER: InputItem = { type: 'compaction_trigger' }

/** A conversation that is much longer than what matters of it, and that in a message too long to stay as it is. */
const conversation = (fact: string): InputItem[] => [
  emitted(`${fact} ${'Mind the tide. '.repeat(150)}`),
  { role: 'assistant', content: 'I shall keep that in mind. '.repeat(200) },
  emitted('Go on.'),
]
const HARBOUR = 'The harbour gate opens with code 4711.'
const LIGHTHOUSE = 'The lighthouse keeper is called Ada.'

/** What was given, as the next request takes it. */
const asInput = ({ output }: { readonly output: readonly object[] }): InputItem[] => [...output] as InputItem[]

const typesOf = (items: readonly { readonly type?: unknown }[]): unknown[] => items.map(({ type }) => type)

describe.each(LANES)('responses.compact() of the openai package over $lane', ({ model, recalls }) => {
  it('gives the input of the next request, and of a next one when that is made short again', async () => {
    const { account, client } = await open()
    const compacted = await client.responses.compact({ model, input: conversation(HARBOUR), instructions: 'Be brief.' })
    expect(compacted).toMatchObject({ object: 'response.compaction', usage: { millrace: { currency: 'USD' } } })
    expect(typesOf(compacted.output)).toEqual(['message', 'compaction'])
    expect(compacted._request_id).toMatch(/^req_/)
    const [receipt] = await account.receipts()
    expect(receipt).toMatchObject({ state: 'settled', outcome: 'completed' })

    const first = [...asInput(compacted), emitted('Now recall harbour for me.')]
    const answer = await client.responses.create({ model, input: first })
    expect(answer.status).toBe('completed')
    if (recalls) expect(answer.output_text).toContain('4711')

    const longer = [...first, ...asInput(answer), ...conversation(LIGHTHOUSE).slice(0, 2), emitted('And now?')]
    const again = await client.responses.compact({ model, input: longer })
    expect(typesOf(again.output).filter((type) => type === 'compaction')).toHaveLength(1)
    expect(JSON.stringify(again.output)).not.toContain('[compaction]')
    for (const [word, fact] of [
      ['harbour', '4711'],
      ['lighthouse', 'Ada'],
    ] as const) {
      const receivedRequest = { model, input: [...asInput(again), emitted(`Now recall ${word} for me.`)] }
      const reported = await client.responses.stream(receivedRequest).finalResponse()
      if (recalls) expect(reported.output_text).toContain(fact)
    }
  })

  it('goes on from a response, with nothing of its own or with more', async () => {
    const { client } = await open()
    const stored = await client.responses.create({ model, input: conversation(HARBOUR) })
    const bare = await client.responses.compact({ model, previous_response_id: stored.id })
    const more = await client.responses.compact({
      ...{ model, previous_response_id: stored.id },
      input: conversation(LIGHTHOUSE),
    })
    for (const [compacted, word, fact] of [
      [bare, 'harbour', '4711'],
      [more, 'harbour', '4711'],
      [more, 'lighthouse', 'Ada'],
    ] as const) {
      const answer = await client.responses.create({
        model,
        input: [...asInput(compacted), emitted(`Now recall ${word} for me.`)],
      })
      if (recalls) expect(answer.output_text).toContain(fact)
    }
  })

  it.each(['json', 'stream'])('makes short by a trigger, and goes on by item and by id: %s', async (delivery) => {
    const { client } = await open()
    const receivedRequest = { model, input: [...conversation(HARBOUR), TRIGGER] }
    const compacted =
      delivery === 'json'
        ? await client.responses.create(receivedRequest)
        : await client.responses.stream(receivedRequest).finalResponse()
    expect(compacted).toMatchObject({ status: 'completed', output: [{ type: 'compaction' }] })
    const encoded = [...asInput(compacted), emitted('Now recall harbour for me.')]
    const byItem = await client.responses.create({ model, input: encoded })
    const byId = await client.responses
      .stream({ model, input: 'Now recall harbour for me.', previous_response_id: compacted.id })
      .finalResponse()
    for (const { status, output_text } of [byItem, byId]) {
      expect(status).toBe('completed')
      if (recalls) expect(output_text).toContain('4711')
    }
  })

  it('is told as a stream of one item, that can be heard again', async () => {
    const { client } = await open()
    const input = [...conversation(HARBOUR), TRIGGER]
    const events = await everyOf(await client.responses.create({ model, input, stream: true }))
    const item = ['response.output_item.added', 'response.output_item.done']
    expect(typesOf(events)).toEqual(['response.created', 'response.in_progress', ...item, 'response.completed'])
    const [begun] = events
    if (begun?.type !== 'response.created') throw new Error('the first event is another')
    const again = await client.responses.retrieve(begun.response.id, { stream: true })
    expect(await everyOf(again)).toEqual(events)
  })

  it('may call tools before and after', async () => {
    const { client } = await open()
    const tools: OpenAI.Responses.Tool[] = [
      { type: 'function', name: 'get_code', parameters: { type: 'object', properties: {} }, strict: false },
    ]
    const input: InputItem[] = [...conversation(LIGHTHOUSE), emitted('Use get_code now.')]
    const called = await client.responses.create({ model, input, tools })
    const [call] = called.output.filter((each) => each.type === 'function_call')
    if (call === undefined) throw new Error('it did not call')
    input.push(...asInput(called), { type: 'function_call_output', call_id: call.call_id, output: 'harbour 4711' })
    const compacted = await client.responses.create({ model, input: [...input, TRIGGER], tools })
    expect(typesOf(compacted.output)).toEqual(['compaction'])
    const more = [...asInput(compacted), emitted('Now recall harbour for me.')]
    const answer = await client.responses.create({ model, input: more, tools })
    if (recalls) expect(answer.output_text).toContain('4711')
  })
})

describe('what was made short', () => {
  const summarisers = LANES.filter(({ compactsItself }) => !compactsItself)

  it.each(summarisers)('by a summary over $lane goes on with every model', async ({ model, recalls }) => {
    const { client } = await open()
    const compacted = await client.responses.compact({ model, input: conversation(HARBOUR) })
    for (const other of LANES) {
      const input = [...asInput(compacted), emitted('Now recall harbour for me.')]
      const answer = await client.responses.create({ model: other.model, input })
      if (recalls && other.recalls) expect(answer.output_text).toContain('4711')
    }
  })

  it('by the provider itself goes to it as it gave it, and to no other', async () => {
    const { client } = await open()
    const compacted = await client.responses.compact({ model: 'thinker', input: conversation(HARBOUR) })
    expect(setup().receivedRequest('thinker').at(-1)?.input).toMatchObject([{}, {}, {}, { type: 'compaction_trigger' }])
    expect(JSON.stringify(compacted)).not.toContain('compacted-by-')
    const input = [...asInput(compacted), emitted('Go on.')]
    await client.responses.create({ model: 'thinker', input })
    const given = setup().receivedRequest('thinker').at(-1)?.input as readonly object[]
    expect(given.filter((item) => 'encrypted_content' in item)).toEqual([
      { type: 'compaction', encrypted_content: expect.stringMatching(/^compacted-by-fake-\d+$/) },
    ])
    for (const { model } of summarisers) {
      const error = await errorOf(client.responses.create({ model, input }))
      expect(error).toBeInstanceOf(BadRequestError)
      expect(error).toMatchObject({ status: 400, code: 'invalid_encrypted_content' })
    }
  })

  it.each(LANES)('over $lane opens for no other account', async ({ model }) => {
    const [mine, theirs] = [await open(), await open()]
    const compacted = await mine.client.responses.compact({ model, input: conversation(HARBOUR) })
    const input = [...asInput(compacted), emitted('Go on.')]
    const errors = await Promise.all([
      errorOf(theirs.client.responses.create({ model, input })),
      errorOf(theirs.client.responses.create({ model, input, stream: true })),
      errorOf(theirs.client.responses.compact({ model, input })),
    ])
    for (const error of errors) {
      expect(error).toBeInstanceOf(BadRequestError)
      expect(error).toMatchObject({
        ...{ status: 400, type: 'invalid_request_error', code: 'invalid_encrypted_content' },
        param: `input[${compacted.output.length - 1}].encrypted_content`,
      })
      expect(error.requestID).toMatch(/^req_/)
    }
    expect(await theirs.account.receipts()).toEqual([])
  })
})

describe('responses.compact() is refused', () => {
  const hello = { model: 'demo', input: 'Hello' } as const

  it('as a stream', async () => {
    const { client } = await open()
    const error = await errorOf(client.responses.compact({ ...hello, stream: true } as typeof hello))
    expect(error).toBeInstanceOf(BadRequestError)
    expect(error).toMatchObject({ status: 400, code: 'unsupported_parameter', param: 'stream' })
  })

  it('with nothing to make short, and with what is not stored', async () => {
    const { client } = await open()
    const [nothing, unknown] = await Promise.all([
      errorOf(client.responses.compact({ model: 'demo' })),
      errorOf(client.responses.compact({ ...hello, previous_response_id: 'resp_nothing' })),
    ])
    for (const error of [nothing, unknown]) expect(error).toBeInstanceOf(BadRequestError)
    expect(nothing).toMatchObject({ param: 'input' })
    expect(unknown).toMatchObject({ code: 'previous_response_not_found', param: 'previous_response_id' })
  })

  it('with a model that is not there', async () => {
    const { client } = await open()
    const error = await errorOf(client.responses.compact({ ...hello, model: 'nowhere' }))
    expect(error).toBeInstanceOf(NotFoundError)
    expect(error).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
  })

  it('and its result is nothing that could be asked for by its id', async () => {
    const { client } = await open()
    const { id } = await client.responses.compact(hello)
    expect(await errorOf(client.responses.retrieve(id))).toMatchObject({ status: 404, code: 'response_not_found' })
  })
})
