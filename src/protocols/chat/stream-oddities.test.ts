import { describe, expect, it } from 'vitest'
import { requestOf, SETTLED } from '../../../test/fixtures/protocols/chat/translate.ts'
import { countedIds } from '../../../test/fixtures/protocols/mint-ids.ts'
import type { Fields } from '../../lib/types.ts'
import type { StreamAdapter } from '../shared/codec-types.ts'
import { FrameSplitter } from '../sse/frames.ts'
import { restoreTools } from '../tools/restore-tools.ts'
import { createToolNames } from '../tools/tool-names.ts'
import { chatDialect } from './dialects.ts'
import { createChatEncoder } from './encoder.ts'
import { createEventReader } from './read-events.ts'

/** What servers that speak Chat do to a stream, and what a client of either road must see of it: one clean answer. */
interface Oddity {
  readonly stream: string
  readonly says: Partial<Emitted>
}

interface Emitted {
  readonly content: string
  readonly reasoning: string
  readonly calls: readonly string[]
  readonly finish: string
  readonly failed?: string
  /** Why it is invalid, when it cannot be repaired. */
  readonly invalid?: string
}

const HEAD = { id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'lane' }
const chunkOf = (delta: unknown, finish: unknown = null, over: object = {}) => ({
  ...HEAD,
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...over,
})
const line = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`
const emitted = (delta: object) => line(chunkOf(delta))
const end = (finish: unknown = 'stop') => line(chunkOf({}, finish))
const DONE = 'data: [DONE]\n\n'
const hi = emitted({ role: 'assistant', content: 'hi' })
const HI = { content: 'hi', finish: 'stop' }
const called = (...fragments: object[]) => emitted({ tool_calls: fragments })
const fn = (name: unknown, args: unknown, over: object = {}) => ({ function: { name, arguments: args }, ...over })
const FINISHES = {
  stop: ['eos', 'eos_token', 'end_turn', 'stop_sequence', 'complete', 'STOP', 'whatever'],
  length: ['model_length', 'MAX_TOKENS', 'max_tokens', 'model_context_window_exceeded'],
  content_filter: ['sensitive', 'CONTENT_FILTER'],
}
const FAILED_FINISHES = ['error', 'abort', 'insufficient_system_resource', 'network_error', 'ERROR']
const WHOLE = { role: 'assistant', content: 'hi' }
const USAGE = { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 }
const LOOKED = { calls: ['look {"a":1}'], finish: 'tool_calls' }

const ODDITIES: Record<string, Oddity> = {
  'data without a space': { stream: `${hi}${end()}${DONE}`.replaceAll('data: ', 'data:'), says: HI },
  'lines that end as on Windows': { stream: `${hi}${end()}${DONE}`.replaceAll('\n', '\r\n'), says: HI },
  'comments among the words': { stream: `: OPENROUTER PROCESSING\n\n:\n\n${hi}: ping\n\n${end()}${DONE}`, says: HI },
  'an event line': { stream: `event: message\n${hi}event: ping\ndata:\n\n${end()}${DONE}`, says: HI },
  'no [DONE]': { stream: hi + end(), says: HI },
  'words behind [DONE]': { stream: `${hi}${end()}${DONE}${emitted({ content: 'more' })}`, says: HI },
  'no id, time, model': {
    stream: [{ content: 'h' }, { content: 'i' }]
      .map((delta) => line({ ...chunkOf(delta), id: null, created: null, model: null }))
      .join('')
      .concat(line({ choices: [{ delta: {}, finish_reason: 'stop' }] })),
    says: HI,
  },
  'another id in every chunk': {
    stream:
      hi + line({ ...chunkOf({ content: '' }), id: 'c2', created: 2 }) + line({ ...chunkOf({}, 'stop'), id: 'c3' }),
    says: HI,
  },
  'choices that are missing, null or empty': {
    stream: `${line(HEAD)}${line({ ...HEAD, choices: null })}${line({ ...HEAD, choices: [] })}${hi}${end()}${DONE}`,
    says: HI,
  },
  'filter results before the first choice': {
    stream: `${line({ ...HEAD, choices: [], prompt_filter_results: [{ prompt_index: 0 }] })}${hi}${end()}${DONE}`,
    says: HI,
  },
  'a delta that is null': { stream: hi + line(chunkOf(null)) + line(chunkOf(null, 'stop')), says: HI },
  'a message that repeats the answer at its end': {
    stream:
      hi +
      line({ ...HEAD, object: 'chat.completion', choices: [{ index: 0, message: WHOLE, finish_reason: 'stop' }] }) +
      line({ ...HEAD, choices: [{ index: 0, message: WHOLE, finish_reason: 'stop' }], usage: USAGE }) +
      line({ ...HEAD, choices: [{ index: 0, message: WHOLE, finish_reason: 'stop' }] }),
    says: HI,
  },
  'a message that repeats reasoning and calls at the end': {
    stream:
      emitted({ reasoning_content: 'hm' }) +
      called(fn('look', '{"a":1}', { index: 0, id: 'x' })) +
      line({
        ...HEAD,
        choices: [
          {
            index: 0,
            message: { ...WHOLE, reasoning_content: 'hm', tool_calls: [fn('look', '{"a":1}', { id: 'x' })] },
            finish_reason: 'tool_calls',
          },
        ],
      }),
    says: { ...LOOKED, reasoning: 'hm' },
  },
  'a whole message instead of deltas': {
    stream: line({
      ...HEAD,
      object: 'chat.completion',
      choices: [{ index: 0, message: WHOLE, finish_reason: 'stop' }],
    }),
    says: HI,
  },
  'a role in every chunk, or an empty one': {
    stream:
      emitted({ role: 'assistant', content: 'h' }) +
      emitted({ role: '', content: 'i' }) +
      emitted({ role: 'assistant' }) +
      end(),
    says: HI,
  },
  'content in parts': {
    stream:
      emitted({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }] }) +
      emitted({
        content: [
          { type: 'text', text: 'hi' },
          { type: 'reference', reference_ids: [1] },
        ],
      }) +
      end(),
    says: { ...HI, reasoning: 'hm' },
  },
  reasoning_content: { stream: emitted({ reasoning_content: 'hm' }) + hi + end(), says: { ...HI, reasoning: 'hm' } },
  reasoning: { stream: emitted({ reasoning: 'hm', content: '' }) + hi + end(), says: { ...HI, reasoning: 'hm' } },
  'tool_calls: null and []': {
    stream: emitted({ content: 'h', tool_calls: null }) + emitted({ content: 'i', tool_calls: [] }) + end(),
    says: HI,
  },
  'calls without index, told apart by their id': {
    stream:
      called(fn('look', '{"a"', { id: 'x' })) +
      called(fn('', ':1}', { id: 'x' })) +
      called(fn('see', '{}', { id: 'y' })) +
      end(),
    says: { calls: ['look {"a":1}', 'see {}'], finish: 'tool_calls' },
  },
  'calls without index and id, told apart by their name': {
    stream: called(fn('look', '{"a"')) + called(fn(undefined, ':1}')) + called(fn('see', '{}')) + end('tool_calls'),
    says: { calls: ['look {"a":1}', 'see {}'], finish: 'tool_calls' },
  },
  'an id in every fragment': {
    stream:
      called(fn('look', '{"a"', { index: 0, id: 'x', type: 'function' })) +
      called(fn('', ':1}', { index: 0, id: 'x', type: 'function' })) +
      end('tool_calls'),
    says: LOOKED,
  },
  'an id that is empty later': {
    stream: called(fn('look', '{"a"', { index: 0, id: 'x' })) + called(fn('', ':1}', { index: 0, id: '' })) + end(),
    says: LOOKED,
  },
  'a name that comes late': {
    stream: called(fn('', '{"a"', { index: 0, id: 'x' })) + called(fn('look', ':1}', { index: 0 })) + end('tool_calls'),
    says: LOOKED,
  },
  'a name that comes later than the next one': {
    stream:
      called(fn('', '{"a"', { index: 0, id: 'x' })) +
      called(fn('see', '{}', { index: 1, id: 'y', type: 'function' })) +
      called(fn('look', ':1}', { index: 0 })) +
      end('tool_calls'),
    says: { calls: ['see {}', 'look {"a":1}'], finish: 'tool_calls' },
  },
  'a name that never comes': {
    stream: called(fn('', '{}', { index: 0, id: 'x' }), fn('see', '{}', { index: 1, id: 'y' })) + end('tool_calls'),
    says: { calls: ['see {}'], invalid: 'a tool call without a name' },
  },
  'no call but one without a name': {
    stream: hi + called(fn('', '{}', { index: 0, id: 'x' })) + end(),
    says: { content: 'hi', invalid: 'a tool call without a name' },
  },
  'an empty call without a name': { stream: hi + called(fn('', '', { index: 0 })) + end(), says: HI },
  'a call without arguments': {
    stream: called(fn('look', '', { index: 0, id: 'x', type: 'function' })) + end('tool_calls'),
    says: { calls: ['look {}'], finish: 'tool_calls' },
  },
  'a call in the older form': {
    stream:
      emitted({ role: 'assistant', content: null, function_call: { name: 'look', arguments: '' } }) +
      emitted({ function_call: { arguments: '{"a":1}' } }) +
      end('function_call'),
    says: LOOKED,
  },
  'a choice that was not requested': {
    stream:
      hi +
      line({ ...HEAD, choices: [{ index: 1, delta: { content: 'no' }, finish_reason: null }] }) +
      line({
        ...HEAD,
        choices: [
          { index: 1, delta: { content: 'no' }, finish_reason: 'length' },
          { index: 0, delta: {}, finish_reason: 'stop' },
        ],
      }),
    says: HI,
  },
  'a finish that comes twice': { stream: hi + end() + end('length'), says: HI },
  'words behind the finish': { stream: hi + end() + emitted({ content: ' you' }), says: { ...HI, content: 'hi you' } },
  'a stop on every chunk': {
    stream: ['h', 'i', ''].map((text) => line(chunkOf({ role: 'assistant', content: text }, 'stop'))).join(''),
    says: HI,
  },
  'a stop on every chunk, and another reason at last': {
    stream: ['', 'h', 'i'].map((text) => line(chunkOf({ content: text }, 'stop'))).join('') + end('length') + DONE,
    says: { content: 'hi', finish: 'length' },
  },
  'a stop on every piece of a call': {
    stream: ['', '{"a', '":1}']
      .map((piece, at) =>
        line(chunkOf({ tool_calls: [fn(at ? '' : 'look', piece, { index: 0, id: at ? null : 'x' })] }, 'stop')),
      )
      .join(''),
    says: LOOKED,
  },
  'reasoning behind the finish, and a usage behind that': {
    stream: hi + end() + emitted({ reasoning_content: 'hm' }) + line({ ...HEAD, choices: [], usage: USAGE }) + DONE,
    says: { ...HI, reasoning: 'hm' },
  },
  'a call behind the finish': {
    stream: hi + end() + called(fn('look', '', { index: 0, id: 'x' })),
    says: { content: 'hi', calls: ['look {}'], finish: 'tool_calls' },
  },
  'a call behind the finish of another': {
    stream:
      line(chunkOf({ tool_calls: [fn('look', '{"a":1}', { index: 0, id: 'x' })] }, 'tool_calls')) +
      line(chunkOf({ tool_calls: [fn('see', '{}', { index: 1, id: 'y' })] }, 'tool_calls')) +
      DONE,
    says: { calls: ['look {"a":1}', 'see {}'], finish: 'tool_calls' },
  },
  'words behind the finish and its usage': {
    stream: hi + end() + line({ ...HEAD, choices: [], usage: USAGE }) + emitted({ content: 'more' }),
    says: { content: 'hi', finish: 'stop', invalid: 'content after the end of the answer' },
  },
  'an end to call without calls': {
    stream: hi + end('tool_calls'),
    says: { content: 'hi', invalid: 'it ended with tool calls but contains none' },
  },
  'arguments that are no JSON': {
    stream:
      called(fn('look', '{"a":', { index: 0, id: 'x' })) + called({ index: 0, function: { arguments: '}' } }) + end(),
    says: { invalid: 'the arguments of a tool call are not JSON' },
  },
  'arguments as an object': { stream: called(fn('look', { a: 1 }, { index: 0, id: 'x' })) + end(), says: LOOKED },
  'an index that is used again': {
    stream:
      called(fn('look', '{"a":1}', { index: 0, id: 'x' })) + called(fn('see', '{}', { index: 0, id: 'y' })) + end(),
    says: { calls: ['look {"a":1}', 'see {}'], finish: 'tool_calls' },
  },
  'an index and an empty id that are used again': {
    stream:
      called(fn('look', '{"a":1}', { index: 0, id: '' })) +
      called(fn('look', '{"a":2}', { index: 0, id: '' }), fn('see', '{}', { index: 0, id: '' })) +
      end('tool_calls'),
    says: { calls: ['look {"a":1}', 'look {"a":2}', 'see {}'], finish: 'tool_calls' },
  },
  'a name in each fragment, and no id': {
    stream:
      ['{"a"', ':', '1}', ''].map((piece) => called(fn('look', piece, { index: 0 }))).join('') + end('tool_calls'),
    says: LOOKED,
  },
  'indexes that begin at five': { stream: called(fn('look', '{"a":1}', { index: 5, id: 'x' })) + end(), says: LOOKED },
  'whole calls, [DONE] and no finish': {
    stream:
      hi +
      called(fn('look', '{"a":', { index: 0, id: 'x' })) +
      called({ index: 0, function: { arguments: '1}' } }) +
      line({ ...HEAD, choices: [], usage: USAGE }) +
      DONE,
    says: { ...LOOKED, content: 'hi' },
  },
  'a stop that is a call': { stream: called(fn('look', '{"a":1}', { index: 0, id: 'x' })) + end('stop'), says: LOOKED },
  'calls that were cut, and are said to be whole': {
    stream:
      called(fn('look', '{"a', { index: 0, id: 'x' })) +
      ['b', 'c', '\\', '"', 'd'].map((piece) => called({ index: 0, function: { arguments: piece } })).join('') +
      end('tool_calls'),
    says: { calls: ['look {"abc\\"d'], finish: 'length' },
  },
  'calls in many small pieces': {
    stream:
      called(fn('look', '', { index: 0, id: 'x', type: 'function' })) +
      ['{', '"', 'a', '\\', '\\', '"', ':', '1', '}']
        .map((piece) => called({ index: 0, function: { arguments: piece } }))
        .join('') +
      end('tool_calls'),
    says: { calls: ['look {"a\\\\":1}'], finish: 'tool_calls' },
  },
  'a finish that is empty before it is one': { stream: line(chunkOf({ content: 'hi' }, '')) + end(), says: HI },
  ...Object.fromEntries(
    Object.entries(FINISHES).flatMap(([finish, words]) =>
      words.map((word) => [`${word} as a finish`, { stream: hi + end(word), says: { content: 'hi', finish } }]),
    ),
  ),
  ...Object.fromEntries(
    FAILED_FINISHES.map((word) => [
      `${word} as a finish`,
      { stream: hi + end(word), says: { content: 'hi', failed: `it ended with "${word}"` } },
    ]),
  ),
  ...Object.fromEntries(
    ['tool_use', 'STOP', 'end_turn', 'whatever'].map((word) => [
      `${word} as the finish of a call`,
      { stream: called(fn('look', '{"a":1}', { index: 0, id: 'x' })) + end(word), says: LOOKED },
    ]),
  ),
  'an error as a chunk': {
    stream: hi + line({ error: { code: 502, message: 'Provider returned error' } }),
    says: { content: 'hi', failed: 'Provider returned error' },
  },
  'an error beside choices': {
    stream: hi + line(chunkOf({ content: 'no' }, 'error', { error: { code: 502, message: 'broke' } })),
    says: { content: 'hi', failed: 'broke' },
  },
  'an error that is text': { stream: line({ error: 'broke' }), says: { failed: 'broke' } },
  'an error in a choice': {
    stream:
      hi +
      line({
        ...HEAD,
        choices: [
          { index: 0, delta: {}, finish_reason: 'error', error: { code: 429, message: 'rate limited', metadata: {} } },
        ],
      }),
    says: { content: 'hi', failed: 'rate limited' },
  },
  'an error at the top of a frame': {
    stream: hi + line({ object: 'error', message: 'too long', type: 'BadRequestError', code: 400 }) + DONE,
    says: { content: 'hi', failed: 'too long' },
  },
  'an error under another name': { stream: line({ detail: 'overloaded' }), says: { failed: 'overloaded' } },
  'a list of errors': {
    stream: line({ success: false, errors: [{ message: 'no', code: 7000 }] }),
    says: { failed: 'no' },
  },
  'an error by the name of its event': {
    stream: `event: error\n${line({ message: 'Overloaded' })}`,
    says: { failed: 'Overloaded' },
  },
  'a failure of MiniMax': {
    stream: line({ ...HEAD, choices: null, base_resp: { status_code: 1002, status_msg: 'rate limit' } }),
    says: { failed: 'rate limit' },
  },
  'a success of MiniMax': {
    stream: hi + end() + line({ ...HEAD, choices: [], usage: USAGE, base_resp: { status_code: 0, status_msg: '' } }),
    says: HI,
  },
  'a member for errors without one': {
    stream: line(chunkOf({ content: 'hi' }, null, { error: null })) + end(),
    says: HI,
  },
  'all that the specification calls nasty': {
    stream:
      ': keep-alive\n\n' +
      line({ choices: [{ delta: { role: 'assistant', reasoning: 'hm' } }] }) +
      line({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [fn('t', '', { id: 'a', type: 'function' })] } }] }) +
      line({
        id: 'x',
        choices: [{ index: 0, delta: { tool_calls: [fn('', '{"k":1}')] }, finish_reason: 'stop' }],
        usage: null,
      }) +
      line({ id: 'x', choices: [], usage: USAGE }),
    says: { reasoning: 'hm', calls: ['t {"k":1}'], finish: 'tool_calls' },
  },
}

const ROADS = ['relay', 'translation'] as const

function adapterOn(route: (typeof ROADS)[number]): StreamAdapter {
  const request = requestOf({ messages: [{ role: 'user', content: 'q' }], stream: true })
  const mint = countedIds()
  const encoder = createChatEncoder({ request, model: 'mill', requestId: 'req_1', mint, now: () => 1_800_000_000_000 })
  const dialect = chatDialect('generic')
  if (route === 'relay') return encoder.relay({ dialect })
  const reader = createEventReader({ dialect, origin: 'lane', mint })
  return encoder.translate(restoreTools(reader, createToolNames([], { custom: 'as-function', namespace: 'flat' })))
}

/** What its client sees of a stream that comes in pieces of that many bytes. */
function readFrames(route: (typeof ROADS)[number], stream: string, pieceBytes: number) {
  const adapter = adapterOn(route)
  const splitter = new FrameSplitter({ frameBytesMax: 100_000 })
  const isOver = () => adapter.state.done || adapter.state.error !== undefined || adapter.state.invalid !== undefined
  let sent = ''
  const bytes = Buffer.from(stream)
  for (let at = 0; at < bytes.length && !isOver(); at += pieceBytes) {
    splitter.push(bytes.subarray(at, at + pieceBytes))
    while (!isOver()) {
      const templated = adapter.readRepeated?.(splitter)
      const next = templated ? undefined : splitter.next()
      if (!templated && !next) break
      sent += String((templated ?? adapter.read(next!)).bytes ?? '')
    }
  }
  if (adapter.state.finished && !adapter.state.error && !adapter.state.invalid) sent += String(adapter.close(SETTLED))
  return { sent, state: adapter.state }
}

interface Fragment {
  readonly index: number
  readonly id?: string
  readonly type?: string
  readonly function: { readonly name?: string; readonly arguments: string }
}

/** As the SDKs put a stream together, and where they throw: at another id, without a role, at an index that leaves a gap. */
function collect(sent: string): Emitted {
  // A relay keeps how its provider writes lines; every SDK reads all of these.
  const data = sent.split(/\r?\n/).flatMap((each) => /^data: ?(.+)$/.exec(each)?.slice(1) ?? [])
  expect(data.pop()).toBe('[DONE]')
  const chunks = data.map((each): Fields => JSON.parse(each))
  const heads = chunks.map(({ id, object, created, model }) => JSON.stringify([id, object, typeof created, model]))
  expect(new Set(heads).size).toBe(1)
  expect(JSON.parse(heads[0]!)).toEqual([expect.stringMatching(/./), 'chat.completion.chunk', 'number', 'mill'])
  const emitted = { content: '', reasoning: '', finish: '' }
  const calls: { name: string; words: string }[] = []
  for (const [at, { choices }] of chunks.entries()) {
    const [{ index, delta, finish_reason }] = choices as [{ index: number; delta: Fields; finish_reason: unknown }]
    expect([index, emitted.finish]).toEqual([0, ''])
    if (at === 0) expect(delta.role).toBe('assistant')
    else expect(delta.role ?? 'assistant').toBe('assistant')
    emitted.content += delta.content ?? ''
    emitted.reasoning += delta.reasoning_content ?? delta.reasoning ?? ''
    emitted.finish += finish_reason ?? ''
    for (const fragment of (delta.tool_calls ?? []) as Fragment[]) {
      if (fragment.index === calls.length) {
        expect([fragment.id, fragment.type]).toEqual([expect.stringMatching(/./), 'function'])
        calls.push({ name: fragment.function.name ?? '', words: '' })
      } else expect(fragment.function.name ?? '').toBe('')
      calls[fragment.index]!.words += fragment.function.arguments
    }
  }
  return { ...emitted, calls: calls.map(({ name, words }) => `${name} ${words}`) }
}

describe.each(ROADS)('on the road of %s', (route) => {
  describe.each(Object.entries(ODDITIES))('%s', (_name, { stream, says }) => {
    it.each([1, 7, 100_000])('is one clean answer, in pieces of %d bytes', (pieceBytes) => {
      const { sent, state } = readFrames(route, stream, pieceBytes)
      if (says.failed !== undefined) {
        expect(state.error?.message).toBe(says.failed)
        expect(sent).not.toContain('"finish_reason":"')
        return
      }
      expect(state.invalid).toBe(says.invalid)
      if (says.invalid !== undefined) {
        if (says.finish === undefined) expect(sent).not.toContain('"finish_reason":"')
        return
      }
      expect(state.error).toBeUndefined()
      expect(collect(sent)).toEqual({ ...{ content: '', reasoning: '', calls: [] }, ...says })
    })
  })

  it('a stream that just ends is not an answer, whatever it contained', () => {
    const look = (words: string) => called(fn('look', words, { index: 0, id: 'x' }))
    const unfinished = [look(''), look('{"a'), look('{}') + called(fn('', '{}', { index: 1, id: 'y' }))]
    for (const stream of ['', hi, hi + DONE, look('{"a":1}'), ...unfinished.map((each) => each + DONE)]) {
      expect(readFrames(route, stream, 100_000).state.finished).toBe(false)
    }
  })
})
