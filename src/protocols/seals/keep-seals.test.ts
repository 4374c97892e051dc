import { expect, it } from 'vitest'
import type { TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../shared/codec-types.ts'
import { newStreamState } from '../shared/stream-state.ts'
import { keepSeals, type SealBeforeCall } from './call-seals.ts'

const seal = (data: string): TurnEvent => ({
  type: 'reasoning-seal',
  opaque: { wire: 'responses', origin: 'lane', data },
})
const call = (number: number): TurnEvent[] => [
  {
    ...{ type: 'tool-call-start', call: number, callId: `call_${number}`, name: 'look' },
    ...{ namespace: undefined, tool: 'function' },
  },
  { type: 'tool-call-delta', call: number, text: '{}' },
  { type: 'tool-call-end', call: number },
]
const text = (words: string): TurnEvent => ({ type: 'text-delta', text: words })

/** What is kept of an answer, told in as many frames as it has events. */
function keptOf(events: readonly TurnEvent[]): Record<string, string[]> {
  const frames = [...events]
  const reader: EventReader = {
    state: newStreamState(),
    read: () => frames.splice(0, 1),
  }
  const kept: Record<string, string[]> = {}
  const delivered = ({ opaque, textBetween }: SealBeforeCall) => `${opaque.data}${textBetween ? ', words' : ''}`
  const noticing = keepSeals(reader, (callId, seals) => {
    kept[callId] = seals.map(delivered)
  })
  expect(events.map(() => noticing.read(Buffer.alloc(0)))).toEqual(events.map((event) => [event]))
  expect(noticing.state).toBe(reader.state)
  return kept
}

it('each call has what is sealed right in front of it, and of calls at once the first', () => {
  expect(keptOf([seal('1'), ...call(0), ...call(1), seal('2'), ...call(2)])).toEqual({ call_0: ['1'], call_2: ['2'] })
  expect(keptOf([seal('1'), seal('2'), ...call(0)])).toEqual({ call_0: ['1', '2'] })
})

it('text between a seal and its call is remembered', () => {
  const refusal: TurnEvent = { type: 'refusal-delta', text: 'no' }
  expect(keptOf([seal('1'), text('Let'), text(' me'), seal('2'), ...call(0)])).toEqual({ call_0: ['1, words', '2'] })
  expect(keptOf([seal('1'), refusal, ...call(0)])).toEqual({ call_0: ['1, words'] })
})

it('nothing is kept of an answer without calls, nor of a call without a seal', () => {
  expect(keptOf([seal('1'), text('Hi'), { type: 'turn-end', reason: 'stop' }])).toEqual({})
  expect(keptOf([text('Hi'), ...call(0)])).toEqual({})
})
