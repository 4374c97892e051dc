import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { encodeAll, eventReader, frameOf, openEncoder } from '../../../test/fixtures/protocols/responses/encoder.ts'
import { createSchemaChecker } from '../../../test/support/json-schema.ts'
import { KNOWN_DIFFERENCES, type OpenFinding, openResponses } from '../../../test/support/open-responses.ts'
import { checkResponsesStream, eventsOf } from '../../../test/support/responses-grammar.ts'
import type { TurnEvent } from '../../model/event.ts'
import { problem } from '../../model/problem.ts'

const document = openResponses()

const text: TurnEvent = { type: 'text-delta', text: 'Hello' }
const withLogprobs: TurnEvent = {
  type: 'text-delta',
  text: 'Hi',
  logprobs: [{ token: 'Hi', logprob: -1, bytes: undefined, top: [{ token: 'Ho', logprob: -2, bytes: [72, 111] }] }],
}
const stop: TurnEvent = { type: 'turn-end', reason: 'stop' }
const call = (tool: 'function' | 'custom'): TurnEvent[] => [
  { type: 'tool-call-start', call: 0, callId: 'call_1', name: 'look', namespace: 'ns', tool },
  { type: 'tool-call-delta', call: 0, text: '{}' },
  { type: 'tool-call-end', call: 0 },
  { type: 'turn-end', reason: 'tool-calls' },
]
const thinking: TurnEvent[] = [
  { type: 'reasoning-delta', text: 'Hm' },
  { type: 'reasoning-seal', opaque: { wire: 'responses', origin: 'lane', data: 'gAAA' } },
]

const tools = [
  { type: 'function', name: 'look', parameters: { type: 'object' } },
  { type: 'custom', name: 'patch' },
  { type: 'namespace', name: 'ns', tools: [] },
]
const format = { type: 'json_schema', name: 'answer', schema: { type: 'object' }, strict: true }
const sealed = { include: ['reasoning.encrypted_content'] }

const encoded = (fields: Record<string, unknown>, ...events: TurnEvent[]) => encodeAll(openEncoder({ fields }), events)

function failed(): string {
  const encoder = openEncoder()
  const opened = encoder.keepAlive()
  const adapter = encoder.translate(eventReader())
  const sent = adapter.read(frameOf(text, ...call('function').slice(0, 2))).bytes
  return `${opened}${sent}${encoder.keepAlive()}${encoder.fail(problem('upstream_error', 'It broke.'))}`
}

/** A stream, and the known differences that it needs. */
const STREAMS: readonly (readonly [string, string, readonly string[]])[] = [
  ['a text', encoded({}, { type: 'message-start', phase: 'final_answer' }, text, stop), []],
  ['logprobs and a refusal', encoded({}, withLogprobs, { type: 'refusal-delta', text: 'No' }, stop), []],
  ['nothing', encoded({}, stop), []],
  ['a cut answer', encoded({}, text, { type: 'turn-end', reason: 'length' }), []],
  ['a failure after silences', failed(), []],
  ['a summary', encoded({ reasoning: { summary: 'auto' }, ...sealed }, ...thinking, text, stop), []],
  ['a call', encoded({ tools: tools.slice(0, 1), tool_choice: 'required' }, text, ...call('function')), []],
  ['raw reasoning', encoded(sealed, ...thinking, text, stop), ['response.reasoning_text.*']],
  ['a custom call', encoded({}, ...call('custom')), ['custom_tool_call', 'response.custom_tool_call_input.*']],
  [
    'foreign tools',
    encoded({ tools, tool_choice: { type: 'custom', name: 'patch' } }, text, stop),
    ['tool_choice', 'tools'],
  ],
  ['a schema', encoded({ text: { format } }, text, stop), ['text.format.schema']],
  [
    'an effort of its own',
    encodeAll(openEncoder({ others: { effort: 'max' as never } }), [text, stop]),
    ['reasoning.effort'],
  ],
]

const unexplained = (findings: readonly OpenFinding[]) =>
  findings.filter(({ difference }) => difference === undefined).map(({ place, message }) => `${place} ${message}`)

describe.skipIf(document === undefined)('the document of Open Responses', () => {
  it.each(STREAMS)('finds only known differences in %s', (_name, stream, differences) => {
    expect(checkResponsesStream(stream)).toEqual([])
    const events = eventsOf(stream)
    const findings = events.flatMap((event) => document!.checkEvent(event))
    expect(unexplained(findings)).toEqual([])
    expect([...new Set(findings.map(({ difference }) => difference))].sort()).toEqual(differences)
    const whole = document!.checkResponse(events.at(-1)?.response)
    expect(unexplained(whole)).toEqual([])
  })

  it('would find a missing key and one of a wrong type', () => {
    const event = eventsOf(STREAMS[0]![1]).at(-1)!
    const response = event.response as Record<string, unknown>
    const { store: _store, ...without } = response
    expect(unexplained(document!.checkResponse(without))).toEqual([' has no store'])
    expect(unexplained(document!.checkResponse({ ...response, temperature: null }))).toEqual([
      '/temperature is no number',
    ])
    expect(unexplained(document!.checkEvent({ ...event, type: 'response.done' }))).toEqual([' fits no branch'])
    const delta = eventsOf(STREAMS[0]![1]).find(({ delta }) => delta !== undefined)!
    expect(unexplained(document!.checkEvent({ ...delta, item_id: 7 }))).toEqual(['/item_id is no string'])
  })
})

it('every known difference occurs in some stream, and stands on the page', () => {
  expect(KNOWN_DIFFERENCES.map(({ name }) => name).sort()).toEqual(STREAMS.flatMap(([, , names]) => names).sort())
  const page = readFileSync(new URL('../../../docs/protocols/responses-differences.md', import.meta.url), 'utf8')
  for (const { name } of KNOWN_DIFFERENCES) expect(page).toContain(`| \`${name}\` |`)
})

describe('the schema checker', () => {
  const { check } = createSchemaChecker({ kinds: { name: { type: 'string', minLength: 2 } } })
  const found = (schema: unknown, value: unknown) =>
    check(schema, value).map(({ place, message }) => `${place} ${message}`)

  it('follows references, and knows types, lists and bounds', () => {
    expect(found({ $ref: '#/kinds/name' }, 'a')).toEqual([' is shorter than 2'])
    expect(found({ type: 'array', items: { type: 'integer', minimum: 1 } }, [1, 0, 1.5])).toEqual([
      '/1 is below 1',
      '/2 is no integer',
    ])
    expect(found({ type: 'string', nullable: true }, null)).toEqual([])
    expect(found({ type: ['string', 'null'] }, null)).toEqual([])
    expect(found({ properties: {}, additionalProperties: false }, { a: 1 })).toEqual(['/a is not allowed'])
  })

  it('reports what the nearest branch misses', () => {
    const branch = (type: string) => ({
      required: ['words'],
      properties: { type: { enum: [type] }, words: { type: 'string' } },
    })
    const schema = { oneOf: [branch('a'), branch('b')] }
    expect(found(schema, { type: 'b', words: 1 })).toEqual(['/words is no string'])
    expect(found(schema, { type: 'c', words: '' })).toEqual([' fits no branch'])
    expect(found({ oneOf: [{}, {}] }, 1)).toEqual([' fits 2 branches'])
    expect(found({ anyOf: [{}, {}] }, 1)).toEqual([])
  })

  it('rejects keywords that it does not know', () => {
    expect(() => check({ contains: {} }, [])).toThrow('contains is not understood')
    expect(() => check({ $ref: '#/kinds/other' }, 1)).toThrow('has no #/kinds/other')
  })
})
