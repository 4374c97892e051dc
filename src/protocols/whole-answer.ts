import { type Fields, isObject } from '../lib/types.ts'
import type { LaneWire } from '../model/wire.ts'
import { tryParse } from './json/bytes.ts'
import { markNumbers, restoreNumbers } from './json/exact-numbers.ts'
import { dataFrame } from './sse/frames.ts'

/**
 * A whole JSON answer as the stream that was asked for: some servers ignore `stream` (proxies in front of LM Studio and llama.cpp, and
 * Gemini without `alt=sse`, which sends a list of chunks). Undefined where it is no answer of the wire.
 */
export function framesOfWhole(wire: LaneWire, json: Buffer): Buffer | undefined {
  const value = tryParse(markNumbers(json).toString('utf8'))
  const frames = FRAMES[wire](value)
  if (frames === undefined) return undefined
  try {
    return restoreNumbers(Buffer.concat(frames.map(dataFrame)))
  } catch (error) {
    // JSON.stringify has less depth than JSON.parse, and no answer is so deep.
    if (error instanceof RangeError) return undefined
    throw error
  }
}

const FRAMES: Readonly<Record<LaneWire, (answer: unknown) => object[] | undefined>> = {
  chat(answer) {
    if (!isObject(answer) || !Array.isArray(answer.choices)) return undefined
    const choices = answer.choices.map((choice) => {
      if (!isObject(choice)) return choice
      const { message, ...others } = choice
      return { delta: message, ...others }
    })
    return [{ ...answer, object: 'chat.completion.chunk', choices }]
  },
  responses(answer) {
    if (!isObject(answer) || !Array.isArray(answer.output)) return undefined
    const { status } = answer
    const end = status === 'failed' || status === 'incomplete' ? status : 'completed'
    return [{ type: `response.${end}`, sequence_number: 0, response: answer }]
  },
  anthropic(answer) {
    if (!isObject(answer) || !Array.isArray(answer.content)) return undefined
    const { content, stop_reason, stop_sequence, usage, ...message } = answer
    return [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage } },
      ...content.filter(isObject).flatMap(eventsOfBlock),
      { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
      { type: 'message_stop' },
    ]
  },
  gemini(answer) {
    const chunks = (Array.isArray(answer) ? answer : [answer]).filter(isObject)
    return chunks.some(({ candidates, promptFeedback }) => candidates ?? promptFeedback) ? chunks : undefined
  },
}

/** A block of Anthropic as the events of its stream: begun empty, then its content. */
function eventsOfBlock(block: Fields, index: number): Fields[] {
  const { type } = block
  const delta = (fields: Fields) => ({ type: 'content_block_delta', index, delta: fields })
  const events = (begun: Fields, deltas: Fields[]) => [
    { type: 'content_block_start', index, content_block: begun },
    ...deltas,
    { type: 'content_block_stop', index },
  ]
  if (type === 'text') {
    const { text, citations, ...begun } = block
    const cited = Array.isArray(citations) ? citations : []
    return events({ ...begun, text: '' }, [
      delta({ type: 'text_delta', text }),
      ...cited.map((citation) => delta({ type: 'citations_delta', citation })),
    ])
  }
  if (type === 'thinking') {
    const { thinking, signature } = block
    return events({ type, thinking: '', signature: '' }, [
      delta({ type: 'thinking_delta', thinking }),
      ...(signature === undefined ? [] : [delta({ type: 'signature_delta', signature })]),
    ])
  }
  if (type === 'tool_use') {
    const json = JSON.stringify(block.input ?? {})
    return events({ ...block, input: {} }, [delta({ type: 'input_json_delta', partial_json: json })])
  }
  return events(block, [])
}
