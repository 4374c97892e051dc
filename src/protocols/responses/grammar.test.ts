import { expect, it } from 'vitest'
import { encodeAll, eventReader, frameOf, openEncoder } from '../../../test/fixtures/protocols/responses/encoder.ts'
import { checkResponsesStream, eventsOf, type StreamedEvent } from '../../../test/support/responses-grammar.ts'
import type { TurnEvent } from '../../model/event.ts'
import { problem } from '../../model/problem.ts'

/** An answer with an item of each kind. */
const ANSWER: TurnEvent[] = [
  { type: 'summary-delta', text: 'Plan' },
  { type: 'reasoning-delta', text: 'Hm' },
  { type: 'reasoning-seal', opaque: { wire: 'responses', origin: 'lane', data: 'gAAA' } },
  { type: 'message-start', phase: 'commentary' },
  {
    type: 'text-delta',
    text: 'Hel',
    logprobs: [{ token: 'Hel', logprob: -1, bytes: [72, 101, 108], top: [] }],
  },
  { type: 'text-delta', text: 'lo' },
  { type: 'refusal-delta', text: 'No' },
  { type: 'tool-call-start', call: 0, callId: 'call_a', name: 'look', namespace: 'ns', tool: 'function' },
  { type: 'tool-call-delta', call: 0, text: '{}' },
  { type: 'tool-call-start', call: 1, callId: 'call_b', name: 'patch', namespace: undefined, tool: 'custom' },
  { type: 'tool-call-delta', call: 1, text: 'x' },
]
const CALLS_END: TurnEvent[] = [
  { type: 'tool-call-end', call: 0 },
  { type: 'tool-call-end', call: 1 },
]
const SEALED = { fields: { include: ['reasoning.encrypted_content'] } }

const whole = (reason: 'tool-calls' | 'length'): string =>
  encodeAll(openEncoder(SEALED), [...ANSWER, ...CALLS_END, { type: 'turn-end', reason }])

function failed(): string {
  const encoder = openEncoder(SEALED)
  const before = encoder.translate(eventReader()).read(frameOf(...ANSWER)).bytes
  return `${before}${encoder.fail(problem('upstream_error', 'It broke.'))}`
}

/** The same events as a stream again, renumbered so that the numbers give nothing away. */
const streamOf = (events: readonly StreamedEvent[]): string =>
  `${events
    .map((event, at) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: at })}\n\n`)
    .join('')}data: [DONE]\n\n`

const STREAMS = { completed: whole('tool-calls'), incomplete: whole('length'), failed: failed() }

it.each(Object.entries(STREAMS))('a stream with %s follows the grammar', (_name, stream) => {
  expect(checkResponsesStream(stream)).toEqual([])
  expect(streamOf(eventsOf(stream))).toBe(stream)
})

it.each(Object.entries(STREAMS))('a missing or repeated event is noticed: %s', (_name, stream) => {
  const events = eventsOf(stream)
  const unnoticed = events.flatMap((event, at) => {
    const missing = streamOf(events.toSpliced(at, 1))
    const twice = streamOf(events.toSpliced(at, 0, event))
    return [
      ...(checkResponsesStream(missing).length === 0 ? [`without ${event.type}`] : []),
      ...(checkResponsesStream(twice).length === 0 ? [`twice ${event.type}`] : []),
    ]
  })
  // The one event that may be present or absent at any time.
  expect(unnoticed).toEqual(['without response.in_progress', 'twice response.in_progress'])
})

it.each(Object.entries(STREAMS))('two swapped events are noticed: %s', (_name, stream) => {
  const events = eventsOf(stream)
  const unnoticed = events.slice(1).flatMap((event, at) => {
    const swapped = events.toSpliced(at, 2, event, events[at]!)
    return checkResponsesStream(streamOf(swapped)).length === 0 ? [`${events[at]?.type} ${event.type}`] : []
  })
  expect(unnoticed).toEqual([])
})

/** Every value inside, with its path and a way to put another one there. */
function leavesOf(value: unknown, path = ''): { path: string; change(): void; restore(): void }[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Record<string, unknown>
  return Object.entries(holder).flatMap(([name, inside]) => {
    const here = `${path}.${name}`
    if (typeof inside === 'object' && inside !== null && Object.keys(inside).length > 0) return leavesOf(inside, here)
    const set = (other: unknown) => () => {
      holder[name] = other
    }
    return [{ path: here, change: set(typeof inside === 'number' ? inside + 1 : 'other'), restore: set(inside) }]
  })
}

/** The values that a stream contains once, so that no other event contradicts them. */
const SENT_ONCE =
  /^response\.(completed|incomplete)\.response\.(usage\.(?!(input|output|total)_tokens$)|incomplete_details\.reason$|completed_at$)|^error\.error\.(type|source|request_id)$/

it.each(Object.entries(STREAMS))('a value that differs from another event is noticed: %s', (_name, stream) => {
  const events = eventsOf(stream)
  let changed = 0
  const unnoticed = events.flatMap((event) =>
    leavesOf(event).flatMap(({ path, change, restore }) => {
      if (path === '.sequence_number') return []
      change()
      changed += 1
      const found = checkResponsesStream(streamOf(events))
      restore()
      const where = `${event.type}${path}`
      return found.length === 0 && !SENT_ONCE.test(where) ? [where] : []
    }),
  )
  expect(unnoticed).toEqual([])
  expect(changed).toBeGreaterThan(200)
})

it('the grammar includes the framing', () => {
  const stream = STREAMS.completed
  const found = (text: string) => checkResponsesStream(text)
  expect(found(`: keep-alive\n\n${stream}`)).toEqual([])
  expect(found(stream.replace('event: response.created\n', ''))).toHaveLength(1)
  expect(found(stream.replace('event: response.created\n', 'event: response.begun\n'))).toHaveLength(1)
  expect(found(stream.replace('"sequence_number":3,', '"sequence_number":4,'))).toHaveLength(1)
  expect(found(stream.replace('data: [DONE]\n\n', ''))).toHaveLength(1)
  expect(found(`${stream}data: [DONE]\n\n`)).toHaveLength(1)
  expect(found(stream.slice(0, -1))).toHaveLength(1)
  expect(found(stream.replace('data: {"type":"response.created"', 'data: {"type:'))).toHaveLength(1)
  expect(found('')).toHaveLength(1)
})
