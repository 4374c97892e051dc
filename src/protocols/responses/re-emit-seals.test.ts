import { describe, expect, it } from 'vitest'
import { bytesOf, eventsIn, framesIn, SETTLED } from '../../../test/fixtures/protocols/responses/answers.ts'
import {
  added,
  delta,
  END,
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

describe('sealed data in a re-emitted stream', () => {
  it('is sent only to a client that asked for it, and is always stored', () => {
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

  it('is sealed once, and its envelope is the same everywhere', () => {
    let envelopes = 0
    const sealReasoning = ({ data }: Opaque) => `envelope ${++envelopes} of ${data.length} letters`
    const { bytes, adapter } = reEmit(framesIn([bytesOf('summary-and-text')]), { sealReasoning })
    const emitted = eventsIn(bytes).flatMap(({ item }) => (item as Fields | undefined)?.encrypted_content ?? [])
    const whole = [...lastResponse(bytes).output, ...adapter.storedItems()].map((item) => item.encrypted_content)
    expect([...emitted, ...whole.filter((seal) => seal !== undefined)]).toEqual(
      Array.from({ length: 3 }, () => 'envelope 1 of 22 letters'),
    )
    expect(String(bytes)).not.toContain('sealed-by-the-provider')
  })

  it('of a compaction is sent and stored in an envelope of its own purpose', () => {
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
    const emitted = { id: 'cmp_ours1', type: 'compaction', vendor: 1, encrypted_content: sealed }
    for (const seals of ['shown', 'hidden'] as const) {
      envelopes = 0
      const { bytes, adapter } = reEmit(frames, { seals, sealCompaction })
      expect(lastResponse(bytes).output[0]).toEqual(emitted)
      expect(adapter.storedItems()).toEqual(lastResponse(bytes).output)
      const items = eventsIn(bytes).flatMap(({ item }) => (item as Fields | undefined) ?? [])
      // It is sent at once, as where the client asked for it.
      expect(items.slice(0, 2)).toEqual([emitted, emitted])
      expect(checkResponsesStream(String(bytes))).toEqual([])
    }
    envelopes = 0
    const reply = reEmitReply({ status: 'completed', output: [compaction] }, laneOf({ sealCompaction }))
    expect(reply.kind === 'reply' && reply.answer.end(SETTLED, END).state.output).toEqual([emitted])
  })

  it('is left out of a reasoning that has not ended, because it is shorter at the start', () => {
    const begun = added({ id: 'rs', type: 'reasoning', summary: [], encrypted_content: 'short' })
    const words = event('response.reasoning_summary_text.delta', { item_id: 'rs', summary_index: 0, delta: 'Hm' })
    const { adapter } = reEmit([begun, words])
    expect(adapter.storedItems()).toEqual([
      { id: 'rs_ours1', type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm' }], status: 'incomplete' },
    ])
  })
})
