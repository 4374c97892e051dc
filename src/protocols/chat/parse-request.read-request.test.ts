import { describe, expect, it } from 'vitest'
import { relayTarget } from '../../../test/fixtures/protocols/lane-target.ts'
import type { ChatRequest } from '../../model/turn.ts'
import { scanJson } from '../json/scan-json.ts'
import type { RelayTarget } from '../shared/lane-target.ts'
import { type ChatDialect, chatDialect } from './dialects.ts'
import { parseRequest } from './parse-request.ts'
import { rewriteRequest } from './write-request.ts'

const BOUNDS = { depthMax: 64, valuesMax: 1_000_000 }

function read(body: string | object) {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  const scanned = scanJson(bytes, BOUNDS)
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  return parseRequest({ bytes, members: scanned.members, value: JSON.parse(bytes.toString()) })
}

function requestOf(body: string | object): ChatRequest {
  const outcome = read(body)
  if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
  return outcome.request
}

const user = [{ role: 'user', content: 'Hello' }]
const base = { model: 'demo', messages: user }

describe('readRequest', () => {
  it('reads what admission decides on', () => {
    const request = requestOf({
      ...base,
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 7,
      reasoning_effort: 'High',
      n: 2,
    })
    expect(request).toMatchObject({
      model: 'demo',
      delivery: 'stream',
      wantsUsage: true,
      outputCap: 7,
      outputCapParam: 'max_tokens',
      effort: 'high',
      choices: 2,
    })
  })

  it('takes null as absent, everywhere', () => {
    const nulls = [
      'stream',
      'stream_options',
      'max_tokens',
      'max_completion_tokens',
      'reasoning_effort',
      'reasoning',
      'n',
      'temperature',
      'tools',
      'stop',
      'user',
      'service_tier',
    ]
    const request = requestOf({ ...base, ...Object.fromEntries(nulls.map((name) => [name, null])) })
    expect(request).toMatchObject({ delivery: 'json', outputCap: undefined, effort: undefined, choices: 1 })
  })

  it('prefers max_completion_tokens over max_tokens', () => {
    expect(requestOf({ ...base, max_tokens: 5, max_completion_tokens: 9 })).toMatchObject({
      outputCap: 9,
      outputCapParam: 'max_completion_tokens',
    })
  })

  it('reads the effort of the other dialect, and refuses two that differ', () => {
    expect(requestOf({ ...base, reasoning: { effort: 'low' } })).toMatchObject({
      effort: 'low',
      effortParam: 'reasoning.effort',
    })
    expect(requestOf({ ...base, reasoning: {} }).effort).toBeUndefined()
    expect(read({ ...base, reasoning_effort: 'low', reasoning: { effort: 'high' } })).toMatchObject({
      problem: { code: 'reasoning_effort_conflict' },
    })
  })

  it('accepts what agents really send: part lists, null content beside tool calls, tool results as parts', () => {
    const messages = [
      { role: 'developer', content: [{ type: 'text', text: 'Be brief' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: '' },
        ],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{' } }],
      },
      { role: 'assistant', tool_calls: [] },
      { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: 'ok' }] },
    ]
    expect(requestOf({ model: 'demo', messages }).inputSize.messages).toBe(5)
  })

  it('notes parts that are not text, for the model to decide', () => {
    const content = [
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: null } },
      { type: 'image_url', image_url: 'http://a/b.png' },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0x', filename: 'a.pdf', file_id: null } },
      { type: 'input_audio', input_audio: 5 },
    ]
    const result = { role: 'tool', tool_call_id: 'call_1', content: content.slice(1, 2) }
    expect(requestOf({ model: 'demo', messages: [{ role: 'user', content }, result] }).otherInputs).toEqual([
      { kind: 'image', param: 'messages[0].content[0]', form: 'picture', dataBytes: 12 },
      { kind: 'image', param: 'messages[0].content[1]', form: 'address', dataBytes: 0 },
      { kind: 'file', param: 'messages[0].content[2]', form: 'document', dataBytes: 8 },
      { kind: 'audio', param: 'messages[0].content[3]', form: 'text', dataBytes: 0 },
      { kind: 'image', param: 'messages[1].content[0]', form: 'address', dataBytes: 0 },
    ])
  })

  const image = (image_url: unknown) => ({ type: 'image_url', image_url })
  const file = (fields: unknown) => ({ type: 'file', file: fields })
  it.each([
    ['an image without a place', image(undefined), 'missing_required_parameter', 'image_url'],
    ['an image that is a number', image(7), 'invalid_type', 'image_url'],
    ['an image without an address', image({}), 'missing_required_parameter', 'image_url.url'],
    ['an address that is an object', image({ url: {} }), 'invalid_type', 'image_url.url'],
    ['an address of another kind', image({ url: 'ftp://a/b.png' }), 'invalid_value', 'image_url.url'],
    ['a detail that is a number', image({ url: 'https://a', detail: 1 }), 'invalid_type', 'image_url.detail'],
    ['a file without its object', file('data:text/plain;base64,aGk='), 'invalid_type', 'file'],
    ['a file of nothing', file({ filename: 'a.pdf' }), 'missing_required_parameter', 'file.file_data'],
    ['a file by its id', file({ file_id: 'file_1' }), 'unsupported_content', 'file.file_id'],
    ['a file that is only base64', file({ file_data: 'JVBERi0x' }), 'invalid_value', 'file.file_data'],
    ['a name that is a number', file({ file_data: 'x', filename: 5 }), 'invalid_type', 'file.filename'],
  ])('refuses %s', (_name, part, code, place) => {
    const refused = read({ model: 'demo', messages: [{ role: 'user', content: [part] }] })
    expect(refused).toMatchObject({ kind: 'refused', problem: { code, param: `messages[0].content[0].${place}` } })
  })

  it.each(['system', 'developer', 'assistant'])('takes only words from the %s', (role) => {
    const message = { role, content: [{ type: 'text', text: 'x' }, image({ url: 'https://a' })] }
    expect(read({ model: 'demo', messages: [message] })).toMatchObject({
      problem: { code: 'unsupported_content', param: 'messages[0].content[1]' },
    })
  })

  it.each([
    ['no model', { messages: user }, 'missing_required_parameter', 'model'],
    ['an empty model', { ...base, model: '' }, 'missing_required_parameter', 'model'],
    ['a number as model', { ...base, model: 7 }, 'invalid_type', 'model'],
    ['no messages', { model: 'demo' }, 'missing_required_parameter', 'messages'],
    ['empty messages', { ...base, messages: [] }, 'invalid_value', 'messages'],
    ['messages as an object', { ...base, messages: {} }, 'invalid_type', 'messages'],
    ['a message that is text', { ...base, messages: ['hi'] }, 'invalid_type', 'messages[0]'],
    ['no role', { ...base, messages: [{ content: 'x' }] }, 'missing_required_parameter', 'messages[0].role'],
    ['an unknown role', { ...base, messages: [{ role: 'boss', content: 'x' }] }, 'invalid_value', 'messages[0].role'],
    [
      'a user without content',
      { ...base, messages: [{ role: 'user' }] },
      'missing_required_parameter',
      'messages[0].content',
    ],
    [
      'content as a number',
      { ...base, messages: [{ role: 'user', content: 1 }] },
      'invalid_type',
      'messages[0].content',
    ],
    [
      'a part without text',
      { ...base, messages: [{ role: 'user', content: [{ type: 'text' }] }] },
      'invalid_type',
      'messages[0].content[0].text',
    ],
    [
      'a part of no known type',
      { ...base, messages: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      'unsupported_content',
      'messages[0].content[0]',
    ],
    ['stream as text', { ...base, stream: 'true' }, 'invalid_type', 'stream'],
    ['a cap of zero', { ...base, max_tokens: 0 }, 'invalid_value', 'max_tokens'],
    ['a broken cap', { ...base, max_completion_tokens: 1.5 }, 'invalid_type', 'max_completion_tokens'],
    ['a hot temperature', { ...base, temperature: 2.1 }, 'invalid_value', 'temperature'],
    ['n of zero', { ...base, n: 0 }, 'invalid_value', 'n'],
    ['five stops', { ...base, stop: ['a', 'b', 'c', 'd', 'e'] }, 'invalid_value', 'stop'],
    [
      'a forced hosted tool',
      { ...base, tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      'unsupported_tool',
      'tool_choice',
    ],
    [
      'only hosted tools and one required',
      { ...base, tools: [{ type: 'mcp' }], tool_choice: 'required' },
      'unsupported_tool',
      'tool_choice',
    ],
    ['a tool of no type', { ...base, tools: [{}] }, 'invalid_type', 'tools[0].type'],
    [
      'a tool without a name',
      { ...base, tools: [{ type: 'function', function: {} }] },
      'invalid_type',
      'tools[0].function.name',
    ],
    ['a tier that is no word', { ...base, service_tier: 'Priority!' }, 'unsupported_value', 'service_tier'],
    ['web search', { ...base, web_search_options: {} }, 'unsupported_parameter', 'web_search_options'],
    ['other models to fall back on', { ...base, models: ['x'] }, 'unsupported_parameter', 'models'],
    ['a dearer way to think', { ...base, reasoning: { mode: 'pro' } }, 'unsupported_value', 'reasoning.mode'],
    ['an effort that is no word', { ...base, reasoning: { effort: 3 } }, 'invalid_type', 'reasoning.effort'],
    [
      'the nested effort twice',
      '{"model":"demo","messages":[{"role":"user","content":"x"}],"reasoning":{"effort":"low","effort":"high"}}',
      'duplicate_field',
      'reasoning.effort',
    ],
    ['a capital nested effort', { ...base, reasoning: { Effort: 'low' } }, 'unsupported_parameter', 'reasoning.Effort'],
    [
      'usage wanted in words',
      { ...base, stream_options: { include_usage: 'yes' } },
      'invalid_type',
      'stream_options.include_usage',
    ],
    ['audio', { ...base, modalities: ['text', 'audio'] }, 'unsupported_value', 'modalities'],
    ['the model twice', '{"model":"demo","messages":[],"model":"other"}', 'duplicate_field', 'model'],
    ['the messages twice', '{"model":"demo","messages":[],"messages":[]}', 'duplicate_field', 'messages'],
    ['an escaped model', '{"mod\\u0065l":"demo","messages":[]}', 'unsupported_parameter', 'model'],
    ['a capital Model', '{"Model":"demo","messages":[]}', 'unsupported_parameter', 'Model'],
    ['a model and a Model', '{"model":"demo","Model":"dear","messages":[]}', 'unsupported_parameter', 'Model'],
    ['a capital cap', { ...base, MAX_TOKENS: 5 }, 'unsupported_parameter', 'MAX_TOKENS'],
  ])('%s is refused', (_name, body, code, param) => {
    expect(read(body as object)).toMatchObject({ kind: 'refused', problem: { code, param } })
  })

  it('no field of any wrong type makes it throw', () => {
    const values = [null, true, 0, -1, 1e308, '', 'x', [], [null], {}, { type: 'x' }, [[]], [{}], [{ role: {} }]]
    const names = [
      'model',
      'messages',
      'stream',
      'stream_options',
      'tools',
      'reasoning',
      'reasoning_effort',
      'stop',
      'n',
      'modalities',
      'logit_bias',
      'functions',
      '__proto__',
      'constructor',
    ]
    let refused = 0
    for (const name of names)
      for (const value of values) if (read(JSON.stringify({ ...base, [name]: value })).kind === 'refused') refused++
    expect(refused).toBeGreaterThan(80)
  })
})

describe('retargetRequest', () => {
  const rewrite = (request: ChatRequest, over: Partial<RelayTarget<ChatDialect>> = {}) => {
    const asked = { model: 'lane-model', outputCap: 500, delivery: request.delivery, ...over }
    return String(rewriteRequest(request, relayTarget(over.dialect ?? chatDialect('openai'), asked)).body)
  }

  it('rewrites the control fields and copies everything else byte for byte', () => {
    const body =
      '{ "messages" : [ {"role":"user","content":"\\u0041  \\"model\\":\\"demo\\""} ],"temperature":1.0,"model":"demo-high","max_tokens":9999,"stream":true,"stream_options":{"include_usage":false} }'
    const request = requestOf(body)
    const sent = rewrite(request, { effort: 'high' as never })
    expect(JSON.parse(sent)).toEqual({
      messages: [{ role: 'user', content: 'A  "model":"demo"' }],
      temperature: 1,
      model: 'lane-model',
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'high',
      max_completion_tokens: 500,
    })
    expect(sent).toContain('[ {"role":"user","content":"\\u0041  \\"model\\":\\"demo\\""} ]')
    expect(sent).toContain('1.0')
  })

  it('leaves out what would change the price, and the fields the lane does not get', () => {
    const request = requestOf({ ...base, service_tier: 'auto', store: true, top_k: 5, reasoning: { effort: 'low' } })
    expect(request.optionalFields).toEqual(['store', 'top_k'])
    const sent = JSON.parse(rewrite(request, { passFields: ['top_k'] }))
    expect(sent).toEqual({ ...base, model: 'lane-model', top_k: 5, max_completion_tokens: 500 })
  })

  it('leaves hosted tools out and keeps the others byte for byte', () => {
    const request = requestOf(
      '{"model":"demo","messages":[{"role":"user","content":"x"}],"tools":[{"type":"web_search"}, {"type":"function","function":{"name":"f","parameters":{"n":1.0}}} ],"tool_choice":"auto"}',
    )
    expect(request.ignoredTools).toEqual(['web_search'])
    expect(rewrite(request)).toContain('"tools":[ {"type":"function","function":{"name":"f","parameters":{"n":1.0}}} ]')
    const hostedOnly = requestOf({
      ...base,
      tools: [{ type: 'mcp' }, { type: 'computer' }],
      tool_choice: 'auto',
      parallel_tool_calls: true,
    })
    expect(JSON.parse(rewrite(hostedOnly))).toEqual({
      ...base,
      model: 'lane-model',
      max_completion_tokens: 500,
    })
  })

  it('names what of a nested field it ignores', () => {
    expect(
      requestOf({
        ...base,
        reasoning: { effort: 'low', max_tokens: 3 },
        stream_options: { include_obfuscation: false },
      }).optionalFields,
    ).toEqual(['reasoning.max_tokens', 'stream_options.include_obfuscation'])
  })

  it('speaks the dialect of the lane', () => {
    const request = requestOf({
      model: 'demo',
      messages: [
        { role: 'developer', content: 'Be "developer"' },
        { role: 'user', content: 'developer' },
      ],
      seed: 7,
      user: 'u',
      top_k: 3,
      reasoning_effort: 'low',
    })
    const sent = (name: string) => JSON.parse(rewrite(request, { effort: request.effort, dialect: chatDialect(name) }))
    expect(sent('mistral')).toEqual({
      model: 'lane-model',
      messages: [
        { role: 'system', content: 'Be "developer"' },
        { role: 'user', content: 'developer' },
      ],
      random_seed: 7,
      reasoning_effort: 'high',
      max_tokens: 500,
    })
    expect(sent('openai')).toMatchObject({
      messages: [{ role: 'developer' }, {}],
      seed: 7,
      user: 'u',
      max_completion_tokens: 500,
    })
    expect(sent('openrouter')).toMatchObject({ reasoning: { effort: 'low' }, top_k: 3 })
    expect(sent('nobody has state of it')).toMatchObject({ max_tokens: 500 })
  })

  it('sends no stream options with a JSON request', () => {
    const request = requestOf({ ...base, stream: false, stream_options: { include_usage: true } })
    expect(JSON.parse(rewrite(request))).toEqual({
      ...base,
      model: 'lane-model',
      max_completion_tokens: 500,
    })
  })
})
