import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'

const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' } }
const tool = {
  type: 'function',
  function: { name: 'f', description: 'd', parameters: { type: 'object', properties: { a: { type: 'string' } } } },
}
const flat = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: false }
const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"a":"b"}' } }

/** More digits than a double has. */
const EXACT = '{"a":9007199254740993,"b":1.10,"c":-0,"d":1e400}'
const exactCall = { id: 'call_2', type: 'function', function: { name: 'f', arguments: EXACT } }
const customCall = { id: 'call_3', type: 'custom', custom: { name: 'c', input: 'free' } }
const marked = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const pdf = { file_data: 'data:application/pdf;base64,JVBERi0xLjQK', filename: 'a.pdf' }

/** Whole requests of both protocols, from which everything else is made. */
const CHATS = [
  { model: 'fuzz', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 3 },
  {
    model: 'fuzz-high',
    messages: [
      { role: 'system', content: 's' },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }, image] },
    ],
    stream: true,
    stream_options: { include_usage: true },
  },
  {
    model: 'fuzz',
    messages: [
      { role: 'user', content: 'u' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_1', content: 'r' },
    ],
    tools: [tool],
    tool_choice: 'auto',
    n: 2,
    temperature: 0.5,
    top_p: 1,
    stop: ['x'],
    seed: 7,
    user: 'me',
    logprobs: true,
    top_logprobs: 2,
    metadata: { a: 'b' },
  },
  {
    model: 'fuzz',
    messages: [
      { role: 'developer', content: 'd' },
      { role: 'user', content: 'u', name: 'n' },
    ],
    response_format: { type: 'json_schema', json_schema: { name: 'j', schema: { type: 'object' } } },
    reasoning_effort: 'low',
    parallel_tool_calls: false,
    max_completion_tokens: 5,
    logit_bias: { 50256: -100 },
    prompt_cache_key: 'p',
    store: false,
  },
  {
    model: 'fuzz',
    messages: [
      { role: 'system', content: [{ type: 'text', text: 's', ...marked }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'u', ...marked },
          { type: 'file', file: pdf },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'refusal', refusal: 'r' },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [exactCall, customCall] },
      { role: 'tool', tool_call_id: 'call_2', content: 'r' },
      { role: 'tool', tool_call_id: 'call_3', content: 'r' },
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: 'r' },
    ],
    tools: [
      { ...tool, ...marked },
      { type: 'custom', custom: { name: 'c', format: { type: 'text' } } },
    ],
    max_tokens: 1,
  },
]
const ASKS = [
  { model: 'fuzz', input: 'Hello', max_output_tokens: 20 },
  {
    model: 'fuzz',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    stream: true,
    instructions: 'i',
    store: false,
    include: ['reasoning.encrypted_content'],
  },
  {
    model: 'fuzz',
    input: [
      { type: 'message', role: 'user', content: 'u' },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 's' }], encrypted_content: 'mr1.abc' },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'o' },
    ],
    tools: [flat, { type: 'custom', name: 'c' }, { type: 'web_search' }],
    tool_choice: { type: 'function', name: 'f' },
    reasoning: { effort: 'low', summary: 'auto' },
    text: { format: { type: 'text' }, verbosity: 'low' },
    metadata: { a: 'b' },
  },
  {
    model: 'fuzz',
    input: [{ type: 'item_reference', id: 'msg_00000000000000000000000000' }],
    previous_response_id: 'resp_00000000000000000000000000',
  },
  { model: 'fuzz', input: [{ role: 'user', content: 'u' }, { type: 'compaction_trigger' }], stream: true },
  { model: 'fuzz', previous_response_id: 'resp_00000000000000000000000000', max_output_tokens: 1 },
  {
    model: 'fuzz',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'u', prompt_cache_breakpoint: { mode: 'explicit' } }] },
      { role: 'user', content: [{ type: 'input_file', ...pdf }] },
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'r' },
        ],
      },
      { type: 'crystal_ball_call', id: 'cb_1', status: 'completed', action: { type: 'look' } },
      { type: 'crystal_ball_call_output', call_id: 'cb_1', output: 'o' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'function_call', call_id: 'call_2', name: 'f', arguments: EXACT },
      { type: 'function_call_output', call_id: 'call_2', output: 'o' },
      { type: 'custom_tool_call', call_id: 'call_3', name: 'c', input: 'free' },
      { type: 'custom_tool_call_output', call_id: 'call_3', output: 'o' },
      { role: 'user', content: 'u' },
    ],
    tools: [
      { ...flat, strict: false },
      { type: 'custom', name: 'c' },
    ],
  },
]

const deep = (depth) => {
  let value = 1
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value }
  return value
}

/** What stands where something else should. */
const HOSTILE = [
  ...[
    null,
    true,
    false,
    0,
    -0,
    -1,
    1.5,
    1e308,
    2 ** 53,
    Number.MIN_VALUE,
    '',
    ' ',
    '\0',
    'a',
    '1',
    'null',
    '__proto__',
  ],
  ...[
    '\ud800',
    '\u2028',
    '\ufeff',
    '\u202e',
    '🙂'.repeat(50),
    'x'.repeat(70_000),
    '../../etc/passwd',
    "'; DROP TABLE keys;--",
  ],
  ...[
    'http://127.0.0.1:1/',
    'data:image/png;base64,%%%',
    'data:,',
    'file:///etc/passwd',
    'mr1.',
    'resp_x',
    'NaN',
    '%{SECRET}',
  ],
  ...[
    [],
    {},
    [[]],
    [null],
    [{}],
    { a: 1 },
    { type: null },
    { type: 'text' },
    { type: 'text', text: 1 },
    { role: 'user' },
    { role: 'alien', content: 'x' },
  ],
  ...[
    JSON.parse('{"__proto__":{"admin":true}}'),
    { constructor: { prototype: { x: 1 } } },
    { toString: 1 },
    { length: 1e9 },
  ],
  ...[deep(40), deep(63), deep(70), Array(300).fill(0), Array(2000).fill({ role: 'user', content: 'x' })],
  ...[
    image,
    tool,
    flat,
    call,
    { type: 'input_image', image_url: 'https://example.com/a.png' },
    { type: 'input_file', file_id: 'file_1' },
  ],
]
const NAMES = [
  'stream',
  'model',
  'n',
  'messages',
  'input',
  'tools',
  'max_tokens',
  'temperature',
  '__proto__',
  'constructor',
  '',
  'unknown',
  'store',
  'background',
  'conversation',
  'prompt',
  'modalities',
  'audio',
  'functions',
  'service_tier',
  'cache_salt',
  'stream_options',
  'thinking',
]

export function composeBody(random, path) {
  const isChat = path.startsWith('/v1/chat')
  const value = structuredClone(random.pick(random.chance(0.97) === isChat ? CHATS : ASKS))
  const times = random.chance(0.15) ? 0 : 1 + random.below(3)
  for (let time = 0; time < times; time++) mutate(random, value)
  const text = write(random, value)
  const compacts = path.endsWith('compact') || text.includes('compaction_trigger')
  const bytes = random.chance(0.12) ? spoil(random, Buffer.from(text)) : Buffer.from(text)
  const packed = encode(random, bytes, times === 0 ? 'a turn' : 'a turn with something wrong')
  return { ...packed, compacts }
}

const hostile = (random) => structuredClone(random.pick(HOSTILE))

/** One place in the tree: another value, gone, or a member more. */
function mutate(random, root) {
  const places = []
  const walk = (value) => {
    for (const name of Object.keys(value)) {
      places.push([value, name])
      if (value[name] !== null && typeof value[name] === 'object' && places.length < 500) walk(value[name])
    }
  }
  walk(root)
  const [parent, name] = places.length > 0 ? random.pick(places) : [root, 'a']
  const dice = random.below(10)
  if (dice < 6) parent[name] = hostile(random)
  else if (dice < 8 && !Array.isArray(parent)) delete parent[name]
  else if (Array.isArray(parent)) parent.push(hostile(random))
  else
    Object.defineProperty(parent, random.pick(NAMES), {
      value: hostile(random),
      enumerable: true,
      writable: true,
      configurable: true,
    })
}

function write(random, value) {
  const text = JSON.stringify(value, null, random.chance(0.1) ? 2 : 0)
  const dice = random.below(60)
  if (dice === 0) return `${text.slice(0, -1)},${text.slice(1)}`
  if (dice === 1) return text.replace(/"model"/, '"mod\\u0065l"')
  if (dice === 2) return `\ufeff${text}`
  if (dice === 3) return `${text}${text}`
  if (dice === 4) return text.replace(/:(\d+)/, ':1e400')
  if (dice === 5) return `[${text}]`
  if (dice === 6) return `${text.slice(0, -1)},"input":${'['.repeat(5000)}${']'.repeat(5000)}}`
  if (dice === 7)
    return random.pick(['', ' ', 'null', '""', '[]', '{}', 'NaN', "{'a':1}", '{"model":"fuzz"', '{"a":1,}', '// x\n{}'])
  return text
}

function spoil(random, bytes) {
  const spoilt = Buffer.from(bytes)
  const times = 1 + random.below(3)
  for (let time = 0; time < times && spoilt.length > 0; time++) spoilt[random.below(spoilt.length)] = random.below(256)
  return random.chance(0.2) ? spoilt.subarray(0, random.below(spoilt.length + 1)) : spoilt
}

const CODINGS = { gzip: gzipSync, deflate: deflateSync, br: (bytes) => brotliCompressSync(bytes, { params: { 1: 1 } }) }
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'APPLICATION/JSON',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  '',
  'application/json; charset=utf-16',
  'application/vnd.api+json',
]
const BOMB = gzipSync(Buffer.alloc(8 * 1024 * 1024, 0x20))

function encode(random, bytes, kind) {
  const type = ['content-type', random.chance(0.95) ? 'application/json' : random.pick(TYPES)]
  const headers = random.chance(0.98) ? [type] : []
  if (random.chance(0.001)) return { bytes: BOMB, headers: [...headers, ['content-encoding', 'gzip']], kind: 'a bomb' }
  if (random.chance(0.93)) return { bytes, headers, kind }
  const coding = random.pick(Object.keys(CODINGS))
  const named = random.chance(0.8)
    ? coding
    : random.pick(['gzip', 'br', 'zstd', 'identity', 'gzip, gzip', 'compress', 'x'])
  const packed = random.chance(0.9) ? CODINGS[coding](bytes) : bytes
  const cut = random.chance(0.1) ? packed.subarray(0, random.below(packed.length + 1)) : packed
  return { bytes: cut, headers: [...headers, ['content-encoding', named]], kind: 'a turn that is packed' }
}
