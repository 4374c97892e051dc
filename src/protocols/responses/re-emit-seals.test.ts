import { describe, expect, it } from 'vitest'
import { bytesOf, eventsIn, framesIn, SETTLED } from '../../../test/fixtures/protocols/responses/answers.ts'
import {
  added,
  delta,
  ended,
  event,
  laneOf,
  lastResponse,
  reEmit,
  reEmitReply,
} from '../../../test/fixtures/protocols/responses/re-emit.ts'
import { checkResponsesStream } from '../../../test/support/responses-grammar.ts'
import type { Fields } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import type { Compacted } from '../../model/turn.ts'

describe('what is sealed in a re-emitted stream', () => {
  it('shows sealed reasoning only to who has asked for it, and gives it whole to who stores it', () => {
    const frames = framesIn([bytesOf('summary-and-text')])
    const { bytes, adapter } = reEmit(frames, { seals: 'hidden' })
    expect(String(bytes)).not.toContain('sealed')
    expect(adapter.storedItems()[0]).toMatchObject({ encrypted_content: 'in our envelope: sealed-by-the-provider' })
    const shown = reEmit(frames)
    expect(eventsIn(shown.bytes).find(({ type }) => type === 'response.output_item.added')).not.toHaveProperty(
      'item.encrypted_content',
    )
    expect(lastResponse(shown.bytes).output[0]).toEqual(shown.adapter.storedItems()[0])
  })

  it('puts what is sealed into one envelope, which is the same wherever it is told', () => {
    let envelopes = 0
    const sealReasoning = ({ data }: Opaque) => `envelope ${++envelopes} of ${data.length} letters`
    const { bytes, adapter } = reEmit(framesIn([bytesOf('summary-and-text')]), { sealReasoning })
    const told = eventsIn(bytes).flatMap(({ item }) => (item as Fields | undefined)?.encrypted_content ?? [])
    const whole = [...lastResponse(bytes).output, ...adapter.storedItems()].map((item) => item.encrypted_content)
    expect([...told, ...whole.filter((seal) => seal !== undefined)]).toEqual(
      Array.from({ length: 3 }, () => 'envelope 1 of 22 letters'),
    )
    expect(String(bytes)).not.toContain('sealed-by-the-provider')
  })

  it('tells and stores a compaction that nobody asked for in an envelope of its own purpose, like no other seal', () => {
    const compaction = { id: 'cmp_t', type: 'compaction', encrypted_content: 'raw', vendor: 1 }
    const frames = [
      added(compaction),
      event('response.output_item.done', { output_index: 0, item: compaction }),
      delta('x', { output_index: 1 }),
      ended(),
    ]
    let envelopes = 0
    const sealCompaction = (compacted: Compacted) => `envelope ${++envelopes} of ${JSON.stringify(compacted)}`
    const sealed = sealCompaction({ kind: 'native', opaque: { wire: 'responses', origin: 'lane', data: 'raw' } })
    envelopes = 0
    const told = { id: 'cmp_ours1', type: 'compaction', vendor: 1, encrypted_content: sealed }
    for (const seals of ['shown', 'hidden'] as const) {
      envelopes = 0
      const { bytes, adapter } = reEmit(frames, { seals, sealCompaction })
      expect(lastResponse(bytes).output[0]).toEqual(told)
      expect(adapter.storedItems()).toEqual(lastResponse(bytes).output)
      const items = eventsIn(bytes).flatMap(({ item }) => (item as Fields | undefined) ?? [])
      // It is told at once, as where it was asked for.
      expect(items.slice(0, 2)).toEqual([told, told])
      expect(checkResponsesStream(String(bytes))).toEqual([])
    }
    envelopes = 0
    const reply = reEmitReply({ status: 'completed', output: [compaction] }, laneOf({ sealCompaction }))
    expect(reply.kind === 'reply' && reply.answer.end(SETTLED).state.output).toEqual([told])
  })

  it('tells no seal of a reasoning whose end has not come: what comes at its beginning is too short', () => {
    const begun = added({ id: 'rs', type: 'reasoning', summary: [], encrypted_content: 'short' })
    const words = event('response.reasoning_summary_text.delta', { item_id: 'rs', summary_index: 0, delta: 'Hm' })
    const { adapter } = reEmit([begun, words])
    expect(adapter.storedItems()).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }], status: 'incomplete' },
    ])
  })
})
