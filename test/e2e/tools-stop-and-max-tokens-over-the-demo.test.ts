import { describe, expect, it } from 'vitest'
import { readStream } from '../support/read-stream.ts'
import { chat, hello, send } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

const networkFaults = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } },
  },
}

describe('tools, stop and max_tokens over the demo', () => {
  const server = useServer()

  it('returns a tool call as JSON and accepts its result', async () => {
    const account = await openAccount(server())
    const receivedRequest = await chat(server(), account, {
      tools: [networkFaults],
      messages: hello('Please get_weather'),
    })
    const [choice] = receivedRequest.json.choices
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
    const [call] = choice.message.tool_calls
    expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } })
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'demo', days: 1 })

    const messages = [
      ...hello('Please get_weather'),
      choice.message,
      { role: 'tool', tool_call_id: call.id, content: 'rain' },
    ]
    const reported = await chat(server(), account, { tools: [networkFaults], messages })
    expect(reported.json.choices[0]).toMatchObject({ finish_reason: 'stop' })
    expect(reported.json.choices[0].message.content).toContain('rain')
  })

  it('streams a tool call with one index, one id and valid JSON arguments', async () => {
    const account = await openAccount(server())
    const response = await send(server(), account, {
      model: 'swift',
      stream: true,
      tools: [networkFaults],
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
      messages: hello(),
    })
    const { chunks, text } = await readStream(response)
    const deltas = chunks.flatMap((chunk) => chunk.choices[0].delta.tool_calls ?? [])
    expect(text).toBe('')
    expect(deltas[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'get_weather' } })
    expect(deltas.every((delta) => delta.index === 0)).toBe(true)
    const written = deltas.map((delta) => delta.function.arguments ?? '').join('')
    expect(JSON.parse(written)).toEqual({ city: 'demo', days: 1 })
    expect(chunks.at(-1).choices[0].finish_reason).toBe('tool_calls')
  })

  it('honors tool_choice none and required', async () => {
    const account = await openAccount(server())
    const finish = async (tool_choice: string) =>
      (await chat(server(), account, { tools: [networkFaults], tool_choice, messages: hello('get_weather') })).json
        .choices[0].finish_reason
    expect(await finish('none')).toBe('stop')
    expect(await finish('required')).toBe('tool_calls')
    expect(await finish('auto')).toBe('tool_calls')
  })

  // Coding agents always declare some that only a provider could run, whether they use them or not.
  it('drops a hosted tool and names it', async () => {
    const account = await openAccount(server())
    const answer = await chat(server(), account, { tools: [{ type: 'web_search' }, networkFaults], messages: hello() })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-millrace-ignored-tools')).toBe('web_search')
  })

  it.each([
    { stop: '5', text: '1 2 3 4 ' },
    { stop: ['7', '3'], text: '1 2 ' },
    { stop: null, text: '1 2 3 4 5 6 7 8 9' },
    { stop: ['nowhere'], text: '1 2 3 4 5 6 7 8 9' },
  ])('stops before $stop', async ({ stop, text }) => {
    const account = await openAccount(server())
    const { json } = await chat(server(), account, { stop, messages: hello('count to 9') })
    expect(json.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } })
  })

  it.each(['max_tokens', 'max_completion_tokens'])('ends at %s with the finish reason length', async (field) => {
    const account = await openAccount(server())
    const body = { [field]: 4, messages: hello('count to 9') }
    const { json } = await chat(server(), account, body)
    expect(json.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '1 2 3 4' } })
    expect(json.usage.completion_tokens).toBe(4)
    const stream = await readStream(await send(server(), account, { model: 'swift', stream: true, ...body }))
    expect(stream.text).toBe('1 2 3 4')
    expect(stream.chunks.at(-1).choices[0].finish_reason).toBe('length')
  })

  it('prefers max_completion_tokens, and clamps to the maximum', async () => {
    const account = await openAccount(server())
    const both = await chat(server(), account, {
      max_tokens: 9,
      max_completion_tokens: 2,
      messages: hello('count to 9'),
    })
    expect(both.json.usage.completion_tokens).toBe(2)
    await chat(server(), account, { max_tokens: 1_000_000, messages: hello('count to 9') })
    expect((await account.receipts()).map((receipt) => receipt.output_cap)).toEqual([2, 8192])
  })
})
