import type { LaneWire } from '../../../src/model/wire.ts'
import type { EncodedFrame, Json } from './dice.ts'

/** One way to keep a reader busy: few bytes each, and as many of them as frames may be long. */
export interface Monster {
  readonly wire: LaneWire
  readonly what: string
  frames(): Iterable<EncodedFrame>
}

/** What is filled with them: in a long run, nearly all that a frame may be long. */
export const FRAME_BYTES = process.env.READER_FRAMES === undefined ? 1_000_000 : 3_900_000

/** As many as fit into one frame. */
function full<Value>(of: (at: number) => Value): Value[] {
  const values: Value[] = []
  for (let bytes = 0; bytes < FRAME_BYTES; ) {
    const value = of(values.length)
    bytes += JSON.stringify(value).length + 1
    values.push(value)
  }
  return values
}

const times = <Value>(count: number, of: (at: number) => Value): Value[] =>
  Array.from({ length: count }, (_, at) => of(at))

const one = (emitted: unknown): EncodedFrame[] => [{ emitted }]
const event = (type: string, fields: Json): EncodedFrame => ({ name: type, emitted: { type, ...fields } })

const delta = (fields: Json): EncodedFrame => ({ emitted: { choices: [{ index: 0, delta: fields }] } })
const called = (index: number, name = 'f'): Json => ({ index, id: `c${index}`, function: { name, arguments: '' } })

const CHAT: Readonly<Record<string, () => Iterable<EncodedFrame>>> = {
  'calls in one chunk': () => [delta({ tool_calls: full((at) => called(at)) })],
  'calls without an index in one chunk': () => [
    delta({ tool_calls: full((at) => ({ id: `${at}`, function: { name: 'f' } })) }),
  ],
  'calls without an id in one chunk': () => [delta({ tool_calls: full(() => ({ function: { name: 'f' } })) })],
  'calls without a name in one chunk': () => [delta({ tool_calls: full((at) => called(at, '')) })],
  'calls in many chunks': () => times(30_000, (at) => delta({ tool_calls: [called(at)] })),
  'nameless calls in many chunks': () => times(30_000, (at) => delta({ tool_calls: [called(at, '')] })),
  'parts in one chunk': () => [delta({ content: full(() => ({ type: 'text', text: 'a' })) })],
  'tokens in one chunk': () =>
    one({
      choices: [
        { index: 0, delta: { content: 'a' }, logprobs: { content: full(() => ({ token: 'a', logprob: -1 })) } },
      ],
    }),
  'choices in one chunk': () =>
    one({ choices: full((index) => ({ index, delta: { content: 'a' }, finish_reason: 'stop' })) }),
  'choices in many chunks': () =>
    times(30_000, (index) => ({ emitted: { choices: [{ index, delta: { content: 'a' } }] } })),
  'words of one chunk': () => [delta({ content: 'x'.repeat(FRAME_BYTES) })],
}

const item = (index: number, type: string, fields: Json = {}): Json => ({ id: `i${index}`, type, ...fields })
const added = (index: number, of: Json): EncodedFrame =>
  event('response.output_item.added', { output_index: index, item: of })
const done = (index: number, of: Json): EncodedFrame =>
  event('response.output_item.done', { output_index: index, item: of })
const text = { type: 'output_text', text: 'a' }

const RESPONSES: Readonly<Record<string, () => Iterable<EncodedFrame>>> = {
  'parts in one message': () => [done(0, item(0, 'message', { content: full(() => text) }))],
  'parts in a summary': () => [
    done(0, item(0, 'reasoning', { summary: full(() => ({ type: 'summary_text', text: 'a' })) })),
  ],
  'parts that are added': () => [
    added(0, item(0, 'message')),
    ...times(20_000, (at) =>
      event('response.content_part.added', { item_id: 'i0', output_index: 0, content_index: at, part: text }),
    ),
  ],
  'words of many parts': () => [
    added(0, item(0, 'message')),
    ...times(20_000, (at) =>
      event('response.output_text.delta', { item_id: 'i0', output_index: 0, content_index: at, delta: 'a' }),
    ),
  ],
  'items in the last event': () => [
    event('response.completed', { response: { output: full((at) => item(at, 'message', { content: [text] })) } }),
  ],
  'calls in the last event': () => [
    event('response.completed', { response: { output: full((at) => item(at, 'function_call', { name: 'f' })) } }),
  ],
  'items that are added': () => times(20_000, (at) => added(at, item(at, 'message'))),
  'calls without a name': () => times(4000, (at) => added(at, item(at, 'function_call'))),
  'words for many items at once': () => [
    ...times(4000, (at) => added(at, item(at, 'message'))),
    ...times(20_000, (at) =>
      event('response.output_text.delta', {
        item_id: `i${(at * 7) % 4000}`,
        output_index: (at * 7) % 4000,
        delta: 'a',
      }),
    ),
  ],
  annotations: () => [
    added(0, item(0, 'message')),
    event('response.output_text.delta', { item_id: 'i0', delta: 'a' }),
    ...times(20_000, (at) => event('response.output_text.annotation.added', { item_id: 'i0', annotation: { at } })),
  ],
  'the whole words again and again': () => [
    added(0, item(0, 'message')),
    event('response.output_text.delta', { item_id: 'i0', output_index: 0, delta: 'a'.repeat(200_000) }),
    ...times(100, () =>
      event('response.output_text.done', { item_id: 'i0', output_index: 0, text: 'a'.repeat(200_001) }),
    ),
  ],
}

const toolUse = (index: number): EncodedFrame =>
  event('content_block_start', { index, content_block: { type: 'tool_use', id: `t${index}`, name: 'f', input: {} } })
const blockDelta = (index: number, fields: Json): EncodedFrame => event('content_block_delta', { index, delta: fields })

const ANTHROPIC: Readonly<Record<string, () => Iterable<EncodedFrame>>> = {
  'calls that do not end': () => times(30_000, toolUse),
  'arguments of no call that is known': () => [
    ...times(10_000, toolUse),
    ...times(20_000, () => blockDelta(-1, { type: 'input_json_delta', partial_json: 'a' })),
  ],
  'a signature in pieces': () => [
    event('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } }),
    ...times(30_000, () => blockDelta(0, { type: 'signature_delta', signature: 'abcd' })),
  ],
  'texts that take turns': () =>
    times(30_000, (at) =>
      blockDelta(at % 2, { type: at % 2 === 0 ? 'text_delta' : 'thinking_delta', text: 'a', thinking: 'a' }),
    ),
  'blocks of an unknown type': () =>
    times(30_000, (index) => event('content_block_start', { index, content_block: { type: 'nobody' } })),
  'iterations that are counted': () => [
    event('message_delta', {
      delta: {},
      usage: { iterations: full(() => ({ type: 'message', input_tokens: 1e9, output_tokens: 1e9 })) },
    }),
  ],
  'unknown counts': () =>
    times(200, (at) =>
      event('message_delta', { delta: {}, usage: Object.fromEntries(times(500, (name) => [`c${at}_${name}`, 1])) }),
    ),
}

const parts = (of: readonly unknown[], over: Json = {}): EncodedFrame => ({
  emitted: { candidates: [{ content: { parts: of }, ...over }] },
})

const GEMINI: Readonly<Record<string, () => Iterable<EncodedFrame>>> = {
  'calls in one chunk': () => [parts(full(() => ({ functionCall: { name: 'f' } })))],
  'calls in many chunks': () => times(30_000, () => parts([{ functionCall: { name: 'f', args: {} } }])),
  'parts in one chunk': () => [parts(full((at) => ({ text: 'a', thought: at % 2 === 0 })))],
  'signatures in one chunk': () => [parts(full(() => ({ text: '', thoughtSignature: 'a' })))],
  'a call in pieces': () => [
    parts([
      {
        functionCall: {
          name: 'f',
          willContinue: true,
          partialArgs: full((at) => ({ jsonPath: `$.a[${at}]`, numberValue: 1 })),
        },
      },
    ]),
  ],
  'a deep call in pieces': () => [
    parts([
      {
        functionCall: {
          name: 'f',
          willContinue: true,
          partialArgs: full((at) => ({ jsonPath: `$${'.a'.repeat((at % 99) + 1)}.b`, stringValue: 'x' })),
        },
      },
    ]),
  ],
  'a call in many chunks': () =>
    times(20_000, () => parts([{ functionCall: { name: 'f', willContinue: true, args: { a: 'b' } } }])),
  'candidates in one chunk': () =>
    one({ candidates: full((index) => ({ index: index + 1, content: { parts: [{ text: 'a' }] } })) }),
}

/** What there is of them, on each wire. */
export const MONSTERS: readonly Monster[] = Object.entries({
  chat: CHAT,
  responses: RESPONSES,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
}).flatMap(([wire, all]) => Object.entries(all).map(([what, frames]) => ({ wire: wire as LaneWire, what, frames })))

/** What ends an answer on each wire. */
export const LAST: Readonly<Record<LaneWire, EncodedFrame>> = {
  chat: { emitted: { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] } },
  responses: event('response.completed', { response: { output: [] } }),
  anthropic: event('message_delta', { delta: { stop_reason: 'end_turn' } }),
  gemini: parts([], { finishReason: 'STOP' }),
}
