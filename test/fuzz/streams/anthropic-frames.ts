import type { Dice, EncodedFrame, Json } from './dice.ts'
import { wordsOf } from './values.ts'

const event = (type: string, fields: Json = {}): EncodedFrame => ({ name: type, emitted: { type, ...fields } })

/** An answer as Messages streams it: blocks one after the other, or now and then two at once. */
export function anthropicFrames(dice: Dice): EncodedFrame[] {
  const { pick, onceIn, between } = dice
  const inputUsage = () => ({
    input_tokens: between(0, 90),
    cache_creation_input_tokens: pick([0, 7, null]),
    cache_read_input_tokens: pick([0, 10, null]),
    ...(onceIn(4) ? { cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 4 } } : {}),
  })
  const deltas = (index: number, of: () => Json): EncodedFrame[] =>
    Array.from({ length: between(0, 5) }, () => event('content_block_delta', { index, delta: of() }))
  const block = (index: number): EncodedFrame[] => {
    const content = pick<() => [Json, EncodedFrame[]]>([
      () => [{ type: 'text', text: '' }, deltas(index, () => ({ type: 'text_delta', text: wordsOf(dice) }))],
      () => [
        { type: 'text', text: wordsOf(dice), citations: null },
        deltas(index, () =>
          pick([
            { type: 'citations_delta', citation: { cited_text: 'a' } },
            { type: 'text_delta', text: wordsOf(dice) },
          ]),
        ),
      ],
      () => [
        { type: 'thinking', thinking: '', signature: '' },
        [
          ...deltas(index, () => ({ type: 'thinking_delta', thinking: wordsOf(dice) })),
          ...(onceIn(4)
            ? []
            : [event('content_block_delta', { index, delta: { type: 'signature_delta', signature: 'EqQB' } })]),
        ],
      ],
      () => [{ type: 'redacted_thinking', data: 'sealed' }, []],
      () => [
        { type: 'tool_use', id: `toolu_${index}`, name: pick(['look', 'own', '']), input: pick([{}, {}, { a: 1 }]) },
        deltas(index, () => ({ type: 'input_json_delta', partial_json: wordsOf(dice) })),
      ],
      () => [
        { type: 'tool_use', id: `toolu_${index}`, name: 'look', input: {} },
        deltas(index, () => ({ type: 'input_json_delta', partial_json: pick(['', '{"a":1}']) })),
      ],
      () => [
        pick<Json>([
          { type: 'server_tool_use', id: 's', name: 'web', input: {} },
          { type: 'web_search_tool_result', content: [] },
          { type: 'compaction' },
        ]),
        deltas(index, () => ({
          type: pick(['input_json_delta', 'compaction_delta']),
          partial_json: '{}',
          content: 'short',
        })),
      ],
    ])()
    return [
      event('content_block_start', { index, content_block: content[0] }),
      ...content[1],
      event('content_block_stop', { index }),
    ]
  }
  const blocks = Array.from({ length: between(0, 4) }, (_, index) => block(index))
  const delivered = onceIn(12) ? interleaved(dice, blocks) : blocks.flat()
  const hasCalls = delivered.some(
    ({ emitted }) => ((emitted as Json).content_block as Json | undefined)?.type === 'tool_use',
  )
  const reason = onceIn(5)
    ? pick(['max_tokens', 'refusal', 'stop_sequence', 'pause_turn', 'model_context_window_exceeded', 'nobody', null])
    : hasCalls
      ? 'tool_use'
      : 'end_turn'
  const outputUsage = {
    output_tokens: between(0, 90),
    ...(onceIn(3) ? { output_tokens_details: { thinking_tokens: between(0, 99) } } : {}),
    ...(onceIn(4) ? inputUsage() : {}),
    ...(onceIn(8)
      ? {
          iterations: [
            { type: pick(['message', 'compaction', 'fallback_message']), ...inputUsage(), output_tokens: 4 },
          ],
        }
      : {}),
  }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
  return [
    event('message_start', { message: { ...message, usage: { ...inputUsage(), output_tokens: 1 } } }),
    ...(onceIn(2) ? [event('ping')] : []),
    ...delivered,
    event('message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage: outputUsage }),
    event('message_stop'),
  ]
}

function interleaved({ random }: Dice, blocks: readonly EncodedFrame[][]): EncodedFrame[] {
  const left = blocks.filter(({ length }) => length > 0).map((frames) => [...frames])
  const delivered: EncodedFrame[] = []
  while (left.length > 0) {
    const at = random(left.length)
    delivered.push(left[at]!.shift()!)
    if (left[at]!.length === 0) left.splice(at, 1)
  }
  return delivered
}
