import { describe, expect, it } from 'vitest'
import type { ProviderAnswer } from '../fakes/answers.ts'
import type { Script } from '../fakes/fault-upstream.ts'
import { readStream } from '../support/read-stream.ts'
import { chat, hello, send } from '../support/send-chat.ts'
import { respond, streamResponse } from '../support/send-responses.ts'
import { openAccount } from '../support/test-account.ts'
import { EVERY_LANE_ASKED } from '../support/test-config.ts'
import { useScriptedUpstream } from './lessons/scripted-server.ts'

/** The digits of the number have to arrive. */
const CALLED = '{"count":9007199254740993}'
const CALL = { id: 'call_1', type: 'function', function: { name: 'look', arguments: CALLED } }
const FRAME = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm' }
const CHAT_USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

/** One whole answer of each wire: a text and a call. In JSON, because the number has no value in JavaScript. */
const WHOLE: Readonly<Record<string, string>> = {
  chat: JSON.stringify({
    ...{ ...FRAME, object: 'chat.completion', usage: CHAT_USAGE },
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'whole', tool_calls: [CALL] },
        finish_reason: 'tool_calls',
      },
    ],
  }),
  responses: JSON.stringify({
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed' },
    output: [
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'whole' }] },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'look', arguments: CALLED },
    ],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  }),
  anthropic: `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[
    {"type":"thinking","thinking":"Hm","signature":"signed"},{"type":"text","text":"whole"},
    {"type":"tool_use","id":"call_1","name":"look","input":${CALLED}}],
    "stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}}`,
  gemini: `{"candidates":[{"content":{"role":"model","parts":[{"text":"whole"},
    {"functionCall":{"name":"look","args":${CALLED}}}]},"finishReason":"STOP","index":0}],
    "usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}`,
  'gemini-list': `[{"candidates":[{"content":{"role":"model","parts":[{"text":"who"}]},"index":0}]}
,{"candidates":[{"content":{"role":"model","parts":[{"text":"le"},
    {"functionCall":{"name":"look","args":${CALLED}}}]},"finishReason":"STOP","index":0}],
    "usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"totalTokenCount":15}}]`,
}

const CHAT_FRAMES = [
  { ...FRAME, choices: [{ index: 0, delta: { role: 'assistant', content: 'who' }, finish_reason: null }] },
  { ...FRAME, choices: [{ index: 0, delta: { content: 'le', tool_calls: [{ index: 0, ...CALL }] } }] },
  { ...FRAME, choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
  { ...FRAME, choices: [], usage: CHAT_USAGE },
]
const framesOf = (name: string) =>
  name === 'chat'
    ? CHAT_FRAMES
    : [{ type: 'response.completed', sequence_number: 0, response: JSON.parse(WHOLE.responses!) }]

/** What the provider sends, by the model that is asked for. */
const body = (name: string, contentType: string, sent: string): [string, Script] => [
  name,
  async (answer: ProviderAnswer) => {
    await answer.head(200, { 'content-type': contentType })
    await answer.bytes(sent)
    await answer.end()
  },
]
const MARK = '\ufeff'
const sse = (name: string) =>
  framesOf(name)
    .map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
    .join('')
const SCRIPTS = new Map<string, Script>([
  ...Object.entries(WHOLE).map(([name, json]) => body(`whole-${name}`, 'application/json', json)),
  ...['chat', 'responses'].map((name) => body(`stream-${name}`, 'text/event-stream; charset=utf-8', sse(name))),
  body('marked-chat', 'application/json', MARK + WHOLE.chat),
  body('unended-chat', 'text/event-stream', sse('chat').trimEnd()),
  body('unended-responses', 'text/event-stream', sse('responses').trimEnd()),
  body('cut-chat', 'text/event-stream', sse('chat').trimEnd().slice(0, -2)),
])

const wireOf = (model: string) => model.split('-')[1]!

const current = useScriptedUpstream(
  (model) => SCRIPTS.get(model),
  (baseUrl) => {
    const upstreams = ['chat', 'responses', 'anthropic', 'gemini'].map(
      (wire) => `  - { id: ${wire}, wire: ${wire}, base_url: "${baseUrl}", allow_private: true }\n`,
    )
    const models = [...SCRIPTS.keys()].map(
      (id) =>
        `  - { id: ${id}, context_tokens: 100000, max_output_tokens: 2000, price: { input: "1.00", output: "2.00" }, lanes: [{ upstream: ${wireOf(id)}, model: ${id} }] }\n`,
    )
    return `${EVERY_LANE_ASKED}upstreams:\n${upstreams.join('')}models:\n${models.join('')}`
  },
)

const TOOL = { name: 'look', parameters: { type: 'object', properties: { count: { type: 'integer' } } } }
const CHAT_TOOLS = { messages: hello(), tools: [{ type: 'function', function: TOOL }] }
const RESPONSES_TOOLS = { tools: [{ type: 'function', ...TOOL }], store: false }

/** What each kind of client gets of an answer. */
const ASK = {
  async 'a Chat stream'(model: string) {
    const account = await openAccount(current().server)
    const stream = await readStream(
      await send(current().server, account, {
        ...{ model, ...CHAT_TOOLS, stream: true, stream_options: { include_usage: true } },
      }),
    )
    const deltas = stream.chunks.flatMap(({ choices }) => choices.map(({ delta }: { delta: object }) => delta))
    return {
      text: deltas.map(({ content }) => content ?? '').join(''),
      calls: deltas
        .flatMap(({ tool_calls }) => tool_calls ?? [])
        .map((each) => each.function.arguments)
        .join(''),
      tokens: [stream.chunks.at(-1)?.usage.prompt_tokens, stream.chunks.at(-1)?.usage.completion_tokens],
    }
  },
  async 'a Chat answer'(model: string) {
    const { json } = await chat(current().server, await openAccount(current().server), { model, ...CHAT_TOOLS })
    const { message } = json.choices[0]
    return {
      text: message.content,
      calls: message.tool_calls[0].function.arguments,
      tokens: [json.usage.prompt_tokens, json.usage.completion_tokens],
    }
  },
  'a Responses stream': async (model: string) =>
    ofResponse(
      (await streamResponse(current().server, await openAccount(current().server), { model, ...RESPONSES_TOOLS }))
        .response,
    ),
  'a Responses answer': async (model: string) =>
    ofResponse(
      (await respond(current().server, await openAccount(current().server), { model, ...RESPONSES_TOOLS })).json,
    ),
}

// biome-ignore lint/suspicious/noExplicitAny: a response is judged by what the test expects of it
function ofResponse({ output, usage }: any) {
  // biome-ignore lint/suspicious/noExplicitAny: an item is judged by what the test expects of it
  const of = (type: string): any => output.find((item: { type: string }) => item.type === type)
  return {
    text: of('message').content[0].text,
    calls: of('function_call').arguments,
    tokens: [usage.input_tokens, usage.output_tokens],
  }
}

const EXPECTED = { text: 'whole', calls: CALLED, tokens: [10, 5] }

describe.each(Object.entries(ASK))('%s', (_name, ask) => {
  it.each([...SCRIPTS.keys()].filter((name) => name !== 'cut-chat'))('is complete over %s', async (model) => {
    expect(await ask(model)).toEqual(EXPECTED)
  })
})

it('a last frame that was cut off does not count', async () => {
  const { text, calls, tokens } = await ASK['a Chat stream']('cut-chat')
  expect([text, calls]).toEqual(['whole', CALLED])
  expect(tokens).not.toEqual([10, 5])
})
