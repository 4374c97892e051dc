import type { Dice, EncodedFrame, Json } from './dice.ts'
import { wordsOf } from './values.ts'

interface Told {
  readonly frames: EncodedFrame[]
  readonly item: Json
}

/** An answer as Responses streams it: items with their parts, words, the words again, and everything once more at the end. */
export function responsesFrames(dice: Dice): EncodedFrame[] {
  const { pick, onceIn, between } = dice
  const event = (type: string, fields: Json = {}): EncodedFrame => ({ name: type, emitted: { type, ...fields } })
  /** Servers of others leave out much of it. */
  const sparse = onceIn(4)
  const some = (frame: EncodedFrame): EncodedFrame[] => (sparse && onceIn(2) ? [] : [frame])
  const words = (): string[] => Array.from({ length: between(0, 5) }, () => wordsOf(dice))

  const message = (index: number): Told => {
    const item_id = `msg_${index}`
    const address = { item_id, output_index: index, content_index: 0 }
    const emitted = words()
    const kind = onceIn(8) ? 'refusal' : 'output_text'
    const field = kind === 'refusal' ? 'refusal' : 'text'
    const part = {
      type: kind,
      [field]: emitted.join(''),
      ...(kind === 'refusal' ? {} : { annotations: [], logprobs: [] }),
    }
    const item = { id: item_id, type: 'message', role: 'assistant', status: 'completed', content: [part] }
    const phase = onceIn(4) ? { phase: pick(['commentary', 'final_answer']) } : {}
    const logprobs = onceIn(3) ? [{ token: 'a', logprob: -1, bytes: [97], top_logprobs: [] }] : []
    return {
      item: { ...item, ...phase },
      frames: [
        ...some(
          event('response.output_item.added', {
            output_index: index,
            item: { ...item, ...phase, status: 'in_progress', content: [] },
          }),
        ),
        ...some(event('response.content_part.added', { ...address, part: { ...part, [field]: '' } })),
        ...emitted.map((delta) => event(`response.${kind}.delta`, { ...address, delta, logprobs })),
        ...(onceIn(8)
          ? [
              event('response.output_text.annotation.added', {
                ...address,
                annotation_index: 0,
                annotation: { type: 'url_citation' },
              }),
            ]
          : []),
        ...some(event(`response.${kind}.done`, { ...address, [field]: emitted.join('') })),
        ...some(event('response.content_part.done', { ...address, part })),
        ...some(event('response.output_item.done', { output_index: index, item: { ...item, ...phase } })),
      ],
    }
  }
  const reasoning = (index: number): Told => {
    const item_id = `rs_${index}`
    const isRaw = onceIn(3)
    const kind = isRaw ? 'reasoning_text' : 'reasoning_summary_text'
    const address = { item_id, output_index: index, [isRaw ? 'content_index' : 'summary_index']: 0 }
    const emitted = words()
    const part = { type: isRaw ? 'reasoning_text' : 'summary_text', text: emitted.join('') }
    const parts = emitted.length === 0 ? [] : [part]
    const sealed = onceIn(2) ? { encrypted_content: 'gAAA' } : {}
    const item = {
      id: item_id,
      type: 'reasoning',
      summary: isRaw ? [] : parts,
      ...(isRaw ? { content: parts } : {}),
      ...sealed,
    }
    return {
      item,
      frames: [
        ...some(
          event('response.output_item.added', { output_index: index, item: { ...item, summary: [], content: [] } }),
        ),
        ...some(
          event(isRaw ? 'response.content_part.added' : 'response.reasoning_summary_part.added', {
            ...address,
            part: { ...part, text: '' },
          }),
        ),
        ...emitted.map((delta) => event(`response.${kind}.delta`, { ...address, delta })),
        ...some(event(`response.${kind}.done`, { ...address, text: emitted.join('') })),
        ...some(event('response.output_item.done', { output_index: index, item })),
      ],
    }
  }
  const call = (index: number): Told => {
    const item_id = `fc_${index}`
    const isCustom = onceIn(3)
    const [type, kind, field] = isCustom
      ? (['custom_tool_call', 'custom_tool_call_input', 'input'] as const)
      : (['function_call', 'function_call_arguments', 'arguments'] as const)
    const address = { item_id, output_index: index }
    const emitted = words()
    const item = {
      id: item_id,
      type,
      call_id: `call_${index}`,
      name: pick(['look', 'own', 'f']),
      [field]: emitted.join(''),
      status: 'completed',
    }
    return {
      item,
      frames: [
        ...some(
          event('response.output_item.added', {
            output_index: index,
            item: { ...item, [field]: '', ...(onceIn(9) ? { name: '' } : {}) },
          }),
        ),
        ...emitted.map((delta) => event(`response.${kind}.delta`, { ...address, delta })),
        ...some(event(`response.${kind}.done`, { ...address, [field]: emitted.join('') })),
        ...some(event('response.output_item.done', { output_index: index, item })),
      ],
    }
  }
  const hosted = (index: number): Told => {
    const item = { id: `ws_${index}`, type: 'web_search_call', status: 'completed' }
    const added = event('response.output_item.added', { output_index: index, item })
    return {
      item,
      frames: [added, event('response.web_search_call.searching', { output_index: index, item_id: item.id })],
    }
  }
  const items = Array.from({ length: between(0, 4) }, (_, index) =>
    pick([message, message, reasoning, call, hosted])(index),
  )
  const response = (status: string, over: Json = {}) => ({
    response: { id: 'resp_1', object: 'response', status, output: [], ...over },
  })
  const end = onceIn(6) ? pick(['incomplete', 'failed', 'cancelled', 'done']) : 'completed'
  const usage = {
    ...{ input_tokens: between(0, 90), output_tokens: between(0, 90), total_tokens: 100 },
    ...(onceIn(2)
      ? { input_tokens_details: { cached_tokens: between(0, 99), cache_write_tokens: between(0, 9) } }
      : {}),
    ...(onceIn(2) ? { output_tokens_details: { reasoning_tokens: between(0, 99) } } : {}),
  }
  const over = {
    output: onceIn(6) ? [] : items.map(({ item }) => item),
    ...(onceIn(8) ? {} : { usage }),
    incomplete_details: end === 'incomplete' ? { reason: pick(['max_output_tokens', 'content_filter']) } : null,
    error: end === 'failed' ? { code: 'server_error', message: 'It broke.' } : null,
  }
  const delivered = onceIn(10) ? zipped(items.map(({ frames }) => frames)) : items.flatMap(({ frames }) => frames)
  return [
    event('response.created', response('in_progress')),
    ...(onceIn(2) ? [event('response.in_progress', response('in_progress')), event('keepalive')] : []),
    ...delivered,
    event(`response.${end}`, response(end === 'done' ? 'completed' : end, over)),
    ...(onceIn(2) ? [{ emitted: '[DONE]' }] : []),
  ]
}

/** Items that are written at once: a frame of each in turn. */
const zipped = (items: readonly EncodedFrame[][]): EncodedFrame[] =>
  Array.from({ length: Math.max(0, ...items.map(({ length }) => length)) }, (_, at) =>
    items.flatMap((frames) => frames[at] ?? []),
  ).flat()
