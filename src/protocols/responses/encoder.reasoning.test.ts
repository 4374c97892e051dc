import { describe, expect, it } from 'vitest'
import {
  encodeAll,
  end,
  eventReader,
  finalOf,
  frameOf,
  openEncoder,
  reasoning,
  seal,
  text,
} from '../../../test/fixtures/protocols/responses/encoder.ts'
import { checkResponsesStream } from '../../../test/support/responses-grammar.ts'
import type { Fields } from '../../lib/types.ts'
import type { TurnEvent } from '../../model/event.ts'
import { problem } from '../../model/problem.ts'
import type { Delivery } from '../../model/turn.ts'

const outputOf = (answer: string, delivery: Delivery): Fields[] =>
  (delivery === 'stream' ? finalOf(answer) : JSON.parse(answer)).output

describe('reasoning', () => {
  const thought = [{ type: 'reasoning-start' } as const, reasoning('Hm'), seal('gAAA'), text('Yes'), end('stop')]
  const reasoningItem = (fields: Record<string, unknown>, events: TurnEvent[] = thought) => {
    const stream = encodeAll(openEncoder({ fields }), events)
    expect(checkResponsesStream(stream)).toEqual([])
    return finalOf(stream).output[0]
  }

  it('is sent raw, or as a summary on request', () => {
    expect(reasoningItem({})).toEqual({
      id: 'rs_1',
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm' }],
    })
    expect(reasoningItem({ reasoning: { summary: 'auto' } })).toEqual({
      id: 'rs_1',
      type: 'reasoning',
      summary: [{ type: 'summary_text', text: 'Hm' }],
    })
  })

  it('is sent sealed on request', () => {
    const include = ['reasoning.encrypted_content']
    expect(reasoningItem({ include })).toMatchObject({ encrypted_content: 'sealed responses lane gAAA' })
    const sealOnly = [{ type: 'reasoning-start' } as const, seal('gAAA'), text('Yes'), end('stop')]
    expect(reasoningItem({ include }, sealOnly)).toEqual({
      id: 'rs_1',
      type: 'reasoning',
      summary: [],
      encrypted_content: 'sealed responses lane gAAA',
    })
    // A client that did not ask for it can still refer to it by its id.
    expect(reasoningItem({}, sealOnly)).toEqual({ id: 'rs_1', type: 'reasoning', summary: [] })
  })

  it('that any wire has sealed is sent in an envelope', () => {
    const thought: TurnEvent = { type: 'reasoning-seal', opaque: { wire: 'chat', origin: 'lane', data: 'Hm' } }
    expect(
      reasoningItem({ include: ['reasoning.encrypted_content'] }, [reasoning('Hm'), thought, end('stop')]),
    ).toEqual({
      id: 'rs_1',
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm' }],
      encrypted_content: 'sealed chat lane Hm',
    })
  })

  it('is sealed once, and sent and stored as the same text', () => {
    for (const delivery of ['stream', 'json'] as const) {
      let envelopes = 0
      const others = { sealReasoning: () => `envelope ${++envelopes}` }
      const encoder = openEncoder({ fields: { include: ['reasoning.encrypted_content'] }, delivery, others })
      const answer = encodeAll(encoder, [reasoning('Hm'), seal('gAAA'), text('Yes'), end('stop')])
      expect(answer.match(/envelope \d/g)).toEqual(
        delivery === 'stream' ? ['envelope 1', 'envelope 1'] : ['envelope 1'],
      )
      expect(encoder.storedItems()).toEqual(outputOf(answer, delivery))
    }
  })

  it('is stored with its seal and sent without it, where the client did not ask for it', () => {
    for (const delivery of ['stream', 'json'] as const) {
      const encoder = openEncoder({ delivery })
      const answer = encodeAll(encoder, [seal('gAAA'), text('Yes'), end('length')])
      expect(answer).not.toContain('gAAA')
      const [thought, message] = outputOf(answer, delivery)
      expect([thought, message]).toMatchObject([{ type: 'reasoning' }, { status: 'incomplete' }])
      expect(encoder.storedItems()).toEqual([{ ...thought, encrypted_content: 'sealed responses lane gAAA' }, message])
    }
  })

  it('of a failed answer is stored as far as the client got it', () => {
    const encoder = openEncoder()
    const adapter = encoder.translate(eventReader())
    adapter.read(frameOf(seal('gAAA')))
    expect(encoder.storedItems()).toEqual([])
    adapter.read(frameOf(text('Yes')))
    encoder.fail(problem('upstream_error', 'It broke.'))
    expect(encoder.storedItems()).toMatchObject([
      { encrypted_content: 'sealed responses lane gAAA' },
      { type: 'message', status: 'incomplete' },
    ])
  })

  it('has a summary in parts, and raw text beside it is a second item', () => {
    const start: TurnEvent = { type: 'summary-start' }
    const summary = (words: string): TurnEvent => ({ type: 'summary-delta', text: words })
    const stream = encodeAll(openEncoder(), [
      start,
      summary('A'),
      start,
      start,
      summary('B'),
      reasoning('C'),
      end('stop'),
    ])
    expect(checkResponsesStream(stream)).toEqual([])
    expect(finalOf(stream).output).toMatchObject([
      { summary: [{ text: 'A' }, { text: 'B' }] },
      { summary: [], content: [{ text: 'C' }] },
    ])
  })

  it('that was cut is incomplete', () => {
    expect(reasoningItem({}, [reasoning('Hm'), end('length')])).toMatchObject({ status: 'incomplete' })
  })
})
