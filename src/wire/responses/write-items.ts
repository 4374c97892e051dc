import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import {
  type CallItem,
  type ContentPart,
  type ConversationItem,
  isText,
  type MessageItem,
  type ReasoningItem,
  type ResultItem,
  textOfParts,
} from '../../model/conversation.ts'
import type { LaneTarget } from '../lane-target.ts'
import { ABORTED } from '../made-up-words.ts'
import { opaqueForLane } from '../seals/opaque-for-lane.ts'
import { mapCallIds, pairResults } from '../tools/past-calls.ts'
import type { ResponsesDialect } from './dialects.ts'
import type { ToolWriter } from './write-tools.ts'

/** The items of a conversation as a lane's input. Members without a value are not in the JSON. */
export function writeItems(items: readonly ConversationItem[], lane: ItemsLane, tools: ToolWriter): readonly Fields[] {
  return withFittingCalls(items).flatMap((item) => writeItem(item, lane, tools))
}

/**
 * No two calls have the same id, as those of some providers have that were asked before, and each has one result: anything
 * else would be refused. A call that was given up gets a result that says so, behind all calls that were made at once.
 */
function withFittingCalls(items: readonly ConversationItem[]): readonly ConversationItem[] {
  const { byCall, orphans } = pairResults(items)
  const results = new Set<ConversationItem>([...byCall.values(), ...orphans])
  const ids = mapCallIds()
  const last = new Map<string, string>()
  const fitting: ConversationItem[] = []
  let givenUp: ResultItem[] = []
  for (const item of items) {
    if (item.type === 'tool-call') {
      const callId = ids.take(item.callId)
      last.set(item.callId, callId)
      fitting.push({ ...item, callId })
      if (!byCall.has(item)) givenUp.push(resultOfGivenUp(item, callId))
      continue
    }
    for (const result of givenUp) fitting.push(result)
    givenUp = []
    if (item.type !== 'tool-result') fitting.push(item)
    else if (results.has(item)) fitting.push({ ...item, callId: last.get(item.callId) ?? item.callId })
  }
  return [...fitting, ...givenUp]
}

const resultOfGivenUp = ({ tool }: CallItem, callId: string): ResultItem => ({
  type: 'tool-result',
  tool,
  callId,
  content: [{ type: 'text', text: ABORTED }],
})

type ItemsLane = Pick<LaneTarget<ResponsesDialect>, 'dialect' | 'origin'>

function writeItem(item: ConversationItem, lane: ItemsLane, tools: ToolWriter): readonly Fields[] {
  switch (item.type) {
    case 'message':
      return writeMessage(item)
    case 'reasoning':
      return writeReasoning(item, lane)
    case 'tool-call': {
      const name = tools.nameOf(item)
      if (item.tool === 'function') {
        return [{ type: 'function_call', call_id: item.callId, ...name, arguments: item.text }]
      }
      return tools.isNative(item)
        ? [{ type: 'custom_tool_call', call_id: item.callId, ...name, input: item.text }]
        : [{ type: 'function_call', call_id: item.callId, ...name, arguments: JSON.stringify({ input: item.text }) }]
    }
    case 'tool-result': {
      const isCustom = item.tool === 'custom' && lane.dialect.nativeTools.includes('custom')
      const type = isCustom ? 'custom_tool_call_output' : 'function_call_output'
      return [{ type, call_id: item.callId, output: writeOutput(item.content) }]
    }
    default:
      return assertNever(item)
  }
}

/** A message that says nothing is refused; one that only went before calls has nothing to say. */
function writeMessage({ role, content, phase }: MessageItem): readonly Fields[] {
  const parts = content.map((part) => writePart(part, role === 'assistant' ? 'output_text' : 'input_text'))
  if (role !== 'assistant') return [{ type: 'message', role, content: parts }]
  const said = parts.filter((part) => part.text !== '')
  return said.length === 0 ? [] : [{ type: 'message', role, content: said, phase }]
}

function writePart(part: ContentPart, text: 'input_text' | 'output_text'): Fields {
  switch (part.type) {
    case 'text':
      return text === 'output_text' ? { type: text, text: part.text, annotations: [] } : { type: text, text: part.text }
    case 'refusal':
      return text === 'output_text' ? { type: 'refusal', refusal: part.text } : { type: text, text: part.text }
    case 'image':
      return { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' }
    case 'file':
      return { type: 'input_file', file_data: part.data, file_url: part.url, file_id: part.id, filename: part.name }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    default:
      return assertNever(part)
  }
}

/** Text is one string, which every server takes; only what is more than text comes in parts. */
function writeOutput(content: readonly ContentPart[]): unknown {
  return content.every(isText) ? textOfParts(content, '') : content.map((part) => writePart(part, 'input_text'))
}

/** Reasoning goes back sealed, to who has sealed it; never in words. */
function writeReasoning({ opaque, summary }: ReasoningItem, lane: ItemsLane): readonly Fields[] {
  const seal = opaqueForLane(opaque, lane)
  if (seal === undefined) return []
  return [
    {
      type: 'reasoning',
      summary: summary.map((text) => ({ type: 'summary_text', text })),
      encrypted_content: seal,
    },
  ]
}
