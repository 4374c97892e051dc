import { describe, expect, it } from 'vitest'
import { readStream } from '../support/read-stream.ts'
import { type Answer, answerOf, hello, send } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

const PARAMETERS = {
  type: 'object',
  properties: {
    city: { type: 'string' },
    unit: { type: 'string', enum: ['celsius', 'kelvin'] },
    why: { type: 'string' },
  },
  required: ['city', 'unit'],
}
const WEATHER = { name: 'get_weather', description: 'The weather of a city.', parameters: PARAMETERS }
const QUESTION = 'What is the weather in Oslo?'
const ASKED_FOR = { city: 'Oslo', unit: 'celsius' }

describe('tool calls over the demo', () => {
  const server = useServer()

  it.each([false, true])('Chat: a call, its result, a text answer (stream: %s)', async (stream) => {
    const account = await openAccount(server())
    const tools = [{ type: 'function', function: WEATHER }]
    const sendTurn = async (messages: readonly object[]) => {
      const response = await send(server(), account, { model: 'swift', stream, tools, messages })
      if (!stream) return (await answerOf(response)).json.choices[0].message
      const { chunks, text } = await readStream(response)
      const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])
      const written = deltas.map((delta) => delta.function.arguments ?? '').join('')
      const call = { ...deltas[0], function: { name: deltas[0]?.function.name, arguments: written } }
      return { role: 'assistant', content: text, ...(deltas.length === 0 ? {} : { tool_calls: [call] }) }
    }
    const called = await sendTurn(hello(QUESTION))
    expect(called.tool_calls).toHaveLength(1)
    const [{ id, function: emitted }] = called.tool_calls
    expect([emitted.name, JSON.parse(emitted.arguments)]).toEqual(['get_weather', ASKED_FOR])
    const result = { role: 'tool', tool_call_id: id, content: 'snow, -3' }
    const reported = await sendTurn([...hello(QUESTION), called, result])
    expect(reported.tool_calls).toBeUndefined()
    expect(reported.content).toContain('snow, -3')
  })

  const respond = async (account: Awaited<ReturnType<typeof openAccount>>, stream: boolean, body: object) => {
    const path = '/responses'
    const response = await send(server(), account, { model: 'swift', stream, ...body }, { path })
    if (!stream) return (await answerOf(response)).json
    const frames = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
    const events: Answer['json'][] = frames.map((line) => JSON.parse(line.slice('data: '.length)))
    return events.find(({ type }) => type === 'response.completed').response
  }
  const textOf = ({ output }: Answer['json']): string => output.at(-1).content[0].text

  it.each([false, true])('Responses: a call, its result, a text answer (stream: %s)', async (stream) => {
    const account = await openAccount(server())
    const tools = [{ type: 'function', ...WEATHER }]
    const called = await respond(account, stream, { tools, input: QUESTION })
    expect(called.output).toEqual([expect.objectContaining({ type: 'function_call', name: 'get_weather' })])
    const [call] = called.output
    expect(JSON.parse(call.arguments)).toEqual(ASKED_FOR)
    const input = [{ type: 'function_call_output', call_id: call.call_id, output: 'snow, -3' }]
    const reported = await respond(account, stream, { tools, previous_response_id: called.id, input })
    expect(reported.output.map(({ type }: { type: string }) => type)).toEqual(['message'])
    expect(textOf(reported)).toContain('snow, -3')
  })

  it.each([false, true])('Responses with a custom tool (stream: %s)', async (stream) => {
    const account = await openAccount(server())
    const tools = [{ type: 'custom', name: 'run_sql', description: 'Runs a query.' }]
    const called = await respond(account, stream, { tools, input: 'Please run "select 1" in SQL' })
    expect(called.output).toEqual([
      expect.objectContaining({ type: 'custom_tool_call', name: 'run_sql', input: 'select 1' }),
    ])
    const [{ call_id }] = called.output
    const input = [{ type: 'custom_tool_call_output', call_id, output: 'one row' }]
    const reported = await respond(account, stream, { tools, previous_response_id: called.id, input })
    expect(textOf(reported)).toContain('one row')
  })

  it.each(['required', { type: 'function', name: 'get_weather' }])(
    'Responses with a forced tool: %j',
    async (tool_choice) => {
      const account = await openAccount(server())
      const tools = [{ type: 'function', ...WEATHER }]
      const { output } = await respond(account, false, { tools, tool_choice, input: 'Hello' })
      expect(output).toEqual([expect.objectContaining({ type: 'function_call', name: 'get_weather' })])
      expect(JSON.parse(output[0].arguments)).toEqual({ city: 'demo', unit: 'celsius' })
    },
  )
})
