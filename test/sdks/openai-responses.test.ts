import type OpenAI from 'openai'
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openAccount } from '../support/test-account.ts'
import { LANES, useLanes } from './lanes.ts'
import { everyOf, openaiFor } from './openai-client.ts'

const setup = useLanes()
let client: OpenAI

beforeEach(async () => {
  client = openaiFor(setup(), await openAccount(setup()))
})

type Tool = OpenAI.Responses.Tool
type InputItem = OpenAI.Responses.ResponseInputItem
type OutputItem = OpenAI.Responses.ResponseOutputItem

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const networkFaults: Tool = { type: 'function', name: 'get_weather', parameters: city, strict: false }
const time: Tool = { type: 'function', name: 'get_time', parameters: city, strict: false }
const patch: Tool = { type: 'custom', name: 'apply_patch', description: 'Changes files.' }
const files: Tool = {
  type: 'namespace',
  name: 'files',
  description: 'Reads files.',
  tools: [{ ...networkFaults, name: 'read' }],
}

/** What a client sends after an answer: a result for each of its calls. */
function resultsOf(output: readonly OutputItem[], result: string): InputItem[] {
  return output.flatMap((item): InputItem[] => {
    if (item.type === 'function_call') {
      return [{ type: 'function_call_output', call_id: item.call_id, output: result }]
    }
    if (item.type !== 'custom_tool_call') return []
    return [{ type: 'custom_tool_call_output', call_id: item.call_id, output: result }]
  })
}

const typesOf = (items: readonly { readonly type: string }[]): string[] => items.map(({ type }) => type)

/** Without what is only there to be carried: some providers sign a call that was not thought about. */
const deliveredIn = (output: readonly OutputItem[]): OutputItem[] =>
  output.filter((item) => item.type !== 'reasoning' || item.summary.length > 0)

describe.each(LANES)('the openai package over $lane', ({ model, callsAgain }) => {
  it('gets an answer, and its usage with the charge', async () => {
    const answer = await client.responses.create({ model, input: 'count to 4' })
    expect(answer).toMatchObject({ status: 'completed', model, output_text: '1 2 3 4', store: true })
    expect(answer.usage).toMatchObject({ output_tokens: 4, millrace: { currency: 'USD' } })
    expect(answer._request_id).toMatch(/^req_/)
  })

  it('gets the same as a stream, event by event', async () => {
    const events = await everyOf(await client.responses.create({ model, input: 'count to 4', stream: true }))
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index))
    const words = events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : ''))
    expect(words.join('')).toBe('1 2 3 4')
    const last = events.at(-1)
    if (last?.type !== 'response.completed') throw new Error('the answer is not complete')
    expect(last.response).toMatchObject({ status: 'completed', model, usage: { output_tokens: 4 } })
    expect(last.response.output).toMatchObject([{ type: 'message', content: [{ text: '1 2 3 4' }] }])
  })

  it('gathers a stream with its helper', async () => {
    const snapshots: string[] = []
    const seen = new Set<string>()
    const running = client.responses.stream({ model, input: 'count to 4' })
    running.on('event', ({ type }) => seen.add(type))
    running.on('response.output_text.delta', ({ snapshot }) => snapshots.push(snapshot))
    const final = await running.finalResponse()
    expect(final.output_text).toBe('1 2 3 4')
    expect(snapshots.at(-1)).toBe('1 2 3 4')
    expect([...seen]).toEqual(expect.arrayContaining(['response.created', 'response.completed']))
  })

  it.each(['json', 'stream'])('reasons with an effort, and gives a summary on request: %s', async (delivery) => {
    const receivedRequest = { model, input: 'count to 2', reasoning: { effort: 'high', summary: 'auto' } } as const
    const final =
      delivery === 'json'
        ? await client.responses.create(receivedRequest)
        : await client.responses.stream(receivedRequest).finalResponse()
    expect(typesOf(final.output)).toEqual(['reasoning', 'message'])
    const [thought] = final.output
    if (thought?.type !== 'reasoning') throw new Error('it did not think')
    expect(thought.summary.map(({ text }) => text).join('')).toMatch(/think/i)
    expect(thought.content ?? []).toEqual([])
    expect(final.output_text).toBe('1 2')
    expect(final.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0)
  })

  it('hears what was said before when it goes on from a response', async () => {
    const first = await client.responses.create({ model, input: 'count to 2' })
    const second = await client.responses.create({ model, input: 'count to 3', previous_response_id: first.id })
    const third = await client.responses
      .stream({ model, input: 'count to 1', previous_response_id: second.id })
      .finalResponse()
    expect([second.output_text, third.output_text]).toEqual(['1 2 3', '1'])
    expect(second.previous_response_id).toBe(first.id)
    const parsedOutput = [first, second, third].map(({ usage }) => usage?.input_tokens ?? 0)
    expect(parsedOutput).toEqual([...new Set(parsedOutput)].sort((a, b) => a - b))
  })

  it.each([
    [
      'a function',
      networkFaults,
      'get_weather',
      { type: 'function_call', name: 'get_weather', arguments: '{"city":"demo"}' },
    ],
    ['a custom tool', patch, 'apply_patch', { type: 'custom_tool_call', name: 'apply_patch', input: 'demo' }],
    ['a tool of a namespace', files, 'files__read', { type: 'function_call', name: 'read', namespace: 'files' }],
  ])('calls %s, and goes on from its result by the id of the response', async (_kind, tool, outputText, call) => {
    const receivedRequest = { model, tools: [tool], reasoning: { effort: 'low' as const } }
    const first = await client.responses.create({ ...receivedRequest, input: `Use ${outputText} now.` })
    expect(typesOf(first.output)).toEqual(['reasoning', call.type])
    expect(first.output[1]).toMatchObject({ status: 'completed', ...call })
    const reported = { ...receivedRequest, previous_response_id: first.id, input: resultsOf(first.output, 'snow') }
    const second = await client.responses.stream(reported).finalResponse()
    expect(second.output_text).toContain('"snow"')
  })

  it('calls several tools, streamed, and carries the whole history itself', async () => {
    const input: InputItem[] = [{ role: 'user', content: 'Use get_weather and get_time and apply_patch.' }]
    const tools = [networkFaults, time, patch]
    const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']
    const receivedRequest = { model, tools, store: false, include, reasoning: { effort: 'low' as const } }
    const first = await client.responses.stream({ ...receivedRequest, input }).finalResponse()
    const calls = first.output.filter(({ type }) => type.endsWith('call'))
    expect(calls).toHaveLength(callsAgain ? 3 : 1)
    input.push(...(first.output as InputItem[]), ...resultsOf(first.output, 'hail'))
    const second = await client.responses.create({ ...receivedRequest, input })
    expect(second.output_text).toContain('"hail"')
    input.push(...(second.output as InputItem[]), { role: 'user', content: 'count to 2' })
    const third = await client.responses.stream({ ...receivedRequest, input }).finalResponse()
    expect(third.output_text).toBe('1 2')
  })

  it('has its arguments parsed, and its answer, by the schemas it gave', async () => {
    const look = zodResponsesFunction({ name: 'look', parameters: z.object({ city: z.string() }) })
    const called = await client.responses.parse({ model, input: 'Use look.', tools: [look] })
    expect(deliveredIn(called.output)[0]).toMatchObject({ type: 'function_call', parsed_arguments: { city: 'demo' } })
    const Forecast = z.object({ city: z.string(), degrees: z.number() })
    const format = zodTextFormat(Forecast, 'forecast')
    const reported = await client.responses.parse({ model, input: 'How is it?', text: { format } })
    expect(reported.output_parsed).toEqual({ city: 'demo', degrees: 1 })
    expect(reported.text?.format).toMatchObject({ type: 'json_schema', name: 'forecast' })
    const streamed = await client.responses.stream({ model, input: 'How is it?', text: { format } }).finalResponse()
    expect(streamed.output_parsed).toEqual({ city: 'demo', degrees: 1 })
  })

  it('asks for a response again, hears its stream again from anywhere, and has it forgotten', async () => {
    const events = await everyOf(await client.responses.create({ model, input: 'count to 4', stream: true }))
    const first = events[0]
    if (first?.type !== 'response.created') throw new Error('the first event is another')
    const { id } = first.response
    const stored = await client.responses.retrieve(id)
    expect(stored).toMatchObject({ id, status: 'completed', output_text: '1 2 3 4' })
    const again = await everyOf(await client.responses.retrieve(id, { stream: true }))
    expect(again).toEqual(events)
    const rest = await everyOf(await client.responses.retrieve(id, { stream: true, starting_after: 4 }))
    expect(rest).toEqual(events.slice(5))
    const helped = await client.responses.stream({ response_id: id, starting_after: 4 }).finalResponse()
    expect(helped.output_text).toBe('1 2 3 4')
    await client.responses.delete(id)
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404, code: 'response_not_found' })
  })
})

describe.each(['json', 'stream'])('reasoning goes back with what it led to, out of what was stored: %s', (delivery) => {
  it.each([
    [
      'sealed, to a lane that seals',
      'thinker',
      [{ type: 'reasoning', encrypted_content: expect.stringMatching('sealed') }],
    ],
    ['in its words, to one that does not', 'simple', [{ type: 'reasoning', content: [{ text: 'Let me think.' }] }]],
    ['not at all, to a chat lane that does not want it', 'talker', []],
  ])('%s', async (_how, model, reasoning) => {
    const receivedRequest = { model, tools: [networkFaults], reasoning: { effort: 'low' as const } }
    const question = { ...receivedRequest, input: 'Use get_weather now.' }
    const first =
      delivery === 'json'
        ? await client.responses.create(question)
        : await client.responses.stream(question).finalResponse()
    const reported = { previous_response_id: first.id, input: resultsOf(first.output, 'snow') }
    expect((await client.responses.create({ ...receivedRequest, ...reported })).output_text).toContain('"snow"')
    const { input = [], messages } = setup().receivedRequest(model).at(-1) ?? {}
    const items = input as { type?: string }[]
    expect(items.filter(({ type }) => type === 'reasoning')).toMatchObject(reasoning)
    expect(JSON.stringify(messages ?? '')).not.toContain('think')
  })
})
