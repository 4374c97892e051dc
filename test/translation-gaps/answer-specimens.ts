import type { FinishReason, TurnEvent } from '../../src/model/event.ts'
import { asked, type Specimen } from './specimen.ts'

/** An answer as a lane streams it: the JSON of its frames. */
export type Told = readonly object[]

/** The reasoning of a server that wants to see it again. */
export const SEALED = 'delta.reasoning_content, to be sent back'

type Kinds = Readonly<Record<TurnEvent['type'], readonly Specimen[]>>

// A lane that speaks Chat.

const chunk = (delta: object, more: object = {}, over: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'lane',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
  ...over,
})
const ends = (reason = 'stop') => chunk({}, { finish_reason: reason })
const counted = (usage: object) => ({ ...chunk({}), choices: [], usage })
const HELLO = chunk({ role: 'assistant', content: 'Hello' })

const chat = (what: string, emitted: Told, reason?: string): Specimen =>
  chatFrom(what, [HELLO], [HELLO, ...emitted], reason)
const chatFrom = (what: string, before: Told, after: Told, reason?: string): Specimen =>
  asked(what, [...before, ends()], [...after, ends(reason)])

const fragment = (index: number, more: object) => chunk({ tool_calls: [{ index, ...more }] })
const begun = (index: number, name: string) =>
  fragment(index, { id: `their_${index}`, type: 'function', function: { name, arguments: '' } })
const argued = (index: number, emitted: string) => fragment(index, { function: { arguments: emitted } })
const logprobs = { content: [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }] }
const COUNTS = { prompt_tokens: 9, completion_tokens: 5 }

const CHAT_ENDINGS: Readonly<Record<FinishReason, readonly Specimen[]>> = {
  stop: [],
  length: [chat('finish_reason: length', [], 'length')],
  'tool-calls': [],
  'content-filter': [chat('finish_reason: content_filter', [], 'content_filter')],
}

/** What a chat lane's reader never makes has no specimen. */
const FROM_CHAT: Kinds = {
  'message-start': [],
  'reasoning-start': [],
  'summary-start': [],
  'summary-delta': [],
  'text-delta': [
    chat('delta.content', [chunk({ content: ' you' })]),
    chat('logprobs', [chunk({ content: 'a' }, { logprobs })]),
    chat('logprobs, of a token that never becomes text', [chunk({ content: '' }, { logprobs })]),
    chatFrom(
      'text behind a tool call',
      [HELLO, begun(0, 'look')],
      [HELLO, begun(0, 'look'), chunk({ content: 'more' })],
    ),
  ],
  'refusal-delta': [chat('delta.refusal', [chunk({ refusal: 'no' })])],
  'reasoning-delta': [chatFrom('delta.reasoning_content', [HELLO], [chunk({ reasoning_content: 'Hm' }), HELLO])],
  'reasoning-seal': [chatFrom(SEALED, [HELLO], [chunk({ reasoning_content: 'Hm' }), HELLO])],
  'tool-call-start': [
    chat('delta.tool_calls[]: function', [begun(0, 'look')]),
    chat('delta.tool_calls[]: custom', [fragment(0, { type: 'custom', custom: { name: 'patch', input: 'x' } })]),
    chat('delta.function_call', [chunk({ function_call: { name: 'look', arguments: '{}' } })]),
  ],
  'tool-call-delta': [
    chatFrom('delta.tool_calls[].function.arguments', [begun(0, 'look')], [begun(0, 'look'), argued(0, '{}')]),
    chatFrom(
      'delta.tool_calls[], several at once',
      [begun(0, 'look'), begun(1, 'go')],
      [begun(0, 'look'), begun(1, 'go'), argued(0, '{'), argued(1, '[]'), argued(0, '}')],
    ),
  ],
  'tool-call-end': [chatFrom('several calls', [begun(0, 'look')], [begun(0, 'look'), begun(1, 'go')])],
  usage: [
    chat('usage', [counted(COUNTS)]),
    ...[
      ['prompt_tokens_details.cached_tokens', { prompt_tokens_details: { cached_tokens: 4 } }],
      ['prompt_tokens_details.cache_write_tokens', { prompt_tokens_details: { cache_write_tokens: 3 } }],
      ['completion_tokens_details.reasoning_tokens', { completion_tokens_details: { reasoning_tokens: 2 } }],
      ['completion_tokens_details, any other', { completion_tokens_details: { accepted_prediction_tokens: 2 } }],
    ].map(([what, more]) =>
      chatFrom(`usage.${what}`, [HELLO, counted(COUNTS)], [HELLO, counted({ ...COUNTS, ...(more as object) })]),
    ),
  ],
  'turn-end': Object.values(CHAT_ENDINGS).flat(),
}

const BESIDE_CHAT: readonly Specimen[] = [
  chat('choices[1]', [{ ...chunk({ content: 'b' }, { index: 1 }) }]),
  chat('delta.annotations', [chunk({ annotations: [{ type: 'url_citation', url_citation: { url: 'https://a' } }] })]),
  chat('delta.audio', [chunk({ audio: { data: 'AA==' } })]),
  chat('system_fingerprint', [chunk({}, {}, { system_fingerprint: 'fp' })]),
  chat('service_tier', [chunk({}, {}, { service_tier: 'default' })]),
  chat('content_filter_results', [chunk({}, { content_filter_results: { hate: { filtered: false } } })]),
  chat('any other field', [chunk({ unheard_of: 1 }, {}, { citations: ['https://a'] })]),
]

// A lane that speaks Responses.

const event = (type: string, fields: object) => ({ type: `response.${type}`, ...fields })
const item = (at: number, fields: object) => event('output_item.done', { output_index: at, item: fields })
const message = (at: number, emitted: object | string, more: object = {}) =>
  item(at, {
    id: `m${at}`,
    type: 'message',
    role: 'assistant',
    content: [typeof emitted === 'string' ? { type: 'output_text', text: emitted } : emitted],
    ...more,
  })
const reasoning = (more: object) => item(0, { id: 'r', type: 'reasoning', summary: [], ...more })
const called = (at: number, more: object = {}) =>
  item(at, { id: `f${at}`, type: 'function_call', call_id: 'theirs', name: 'look', arguments: '{}', ...more })
const completed = (more: object = {}) => event('completed', { response: { status: 'completed', ...more } })
const cut = (reason: string) => event('incomplete', { response: { incomplete_details: { reason } } })

const responses = (what: string, before: Told, after: Told, end: object = completed()): Specimen =>
  asked(what, [...before, completed()], [...after, end])
const GREETING = message(1, 'Hello')
const beside = (what: string, ...emitted: object[]) => responses(what, [GREETING], [...emitted, GREETING])
const summaries = (...texts: string[]) => ({ summary: texts.map((text) => ({ type: 'summary_text', text })) })
const raw = { content: [{ type: 'reasoning_text', text: 'Hm' }] }
const inPart = (more: object) => message(1, { type: 'output_text', text: 'Hello', ...more })
const withUsage = (what: string, more: object) =>
  asked(
    what,
    [GREETING, completed({ usage: RESPONSES_COUNTS })],
    [GREETING, completed({ usage: { ...RESPONSES_COUNTS, ...more } })],
  )
const RESPONSES_COUNTS = { input_tokens: 9, output_tokens: 5, total_tokens: 14 }
const token = { token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }
const delta = (more: object) =>
  event('output_text.delta', { item_id: 'm1', output_index: 1, content_index: 0, delta: 'a', ...more })

const FROM_RESPONSES: Kinds = {
  'message-start': [
    responses('several messages', [GREETING], [GREETING, message(2, 'and more')]),
    responses('item.phase', [GREETING], [message(1, 'Hello', { phase: 'final_answer' })]),
  ],
  'reasoning-start': [
    responses(
      'several reasonings',
      [reasoning(raw), GREETING],
      [
        reasoning(raw),
        item(1, { id: 's', type: 'reasoning', ...summaries(), content: raw.content }),
        message(2, 'Hello'),
      ],
    ),
  ],
  'summary-start': [
    responses(
      'summary, several parts',
      [reasoning(summaries('Plan')), GREETING],
      [reasoning(summaries('Plan', 'Do')), GREETING],
    ),
  ],
  'summary-delta': [beside('summary', reasoning(summaries('Plan')))],
  'text-delta': [
    responses('output_text', [GREETING], [message(1, 'Hello you')]),
    responses(
      'output_text, several parts',
      [GREETING],
      [
        message(1, 'Hello', {
          content: [
            { type: 'output_text', text: 'Hello' },
            { type: 'output_text', text: 'you' },
          ],
        }),
      ],
    ),
    responses('logprobs', [delta({})], [delta({ logprobs: [token] })]),
    responses('annotations', [GREETING], [inPart({ annotations: [{ type: 'url_citation', url: 'https://a' }] })]),
  ],
  'refusal-delta': [
    responses(
      'refusal',
      [GREETING],
      [
        message(1, '', {
          content: [
            { type: 'output_text', text: 'Hello' },
            { type: 'refusal', refusal: 'no' },
          ],
        }),
      ],
    ),
  ],
  'reasoning-delta': [beside('reasoning_text', reasoning(raw))],
  'reasoning-seal': [beside('encrypted_content', reasoning({ encrypted_content: 'gAAA' }))],
  'tool-call-start': [
    responses('function_call', [GREETING], [GREETING, called(2)]),
    responses('namespace', [GREETING, called(2)], [GREETING, called(2, { namespace: 'ns' })]),
    responses('custom_tool_call', [GREETING], [GREETING, item(2, { type: 'custom_tool_call', name: 'p', input: 'x' })]),
  ],
  'tool-call-delta': [responses('arguments', [GREETING, called(2)], [GREETING, called(2, { arguments: '{"a":1}' })])],
  'tool-call-end': [responses('several calls', [called(0)], [called(0), called(1, { name: 'go' })])],
  usage: [
    responses('usage', [GREETING], [GREETING], completed({ usage: RESPONSES_COUNTS })),
    withUsage('usage.input_tokens_details.cached_tokens', { input_tokens_details: { cached_tokens: 4 } }),
    withUsage('usage.output_tokens_details.reasoning_tokens', { output_tokens_details: { reasoning_tokens: 2 } }),
    withUsage('usage, any other count', { input_tokens_details: { audio_tokens: 4 } }),
  ],
  'turn-end': [
    responses('incomplete: max_output_tokens', [GREETING], [GREETING], cut('max_output_tokens')),
    responses('incomplete: content_filter', [GREETING], [GREETING], cut('content_filter')),
  ],
}

const BESIDE_RESPONSES: readonly Specimen[] = [
  responses('item.id', [GREETING], [message(1, 'Hello', { id: 'other' })]),
  responses('item.status', [GREETING], [message(1, 'Hello', { status: 'incomplete' })]),
  beside('items of tools that a provider runs', item(0, { id: 'w', type: 'web_search_call', status: 'completed' })),
  beside('compaction', item(0, { id: 'c', type: 'compaction', encrypted_content: 'gAAA' })),
  responses('content_filters', [GREETING], [GREETING], completed({ content_filters: [{ blocked: false }] })),
  responses('service_tier', [GREETING], [GREETING], completed({ service_tier: 'default' })),
  responses('obfuscation', [delta({})], [delta({ obfuscation: 'xyz' })]),
  responses('any other field', [GREETING], [inPart({ unheard_of: 1 })]),
]

/** What a lane may say, by the event that its reader makes of it, and what no event is made of. */
export const ANSWER_SPECIMENS = {
  chat: { byEvent: FROM_CHAT, beside: BESIDE_CHAT },
  responses: { byEvent: FROM_RESPONSES, beside: BESIDE_RESPONSES },
} as const satisfies Record<string, { byEvent: Kinds; beside: readonly Specimen[] }>
