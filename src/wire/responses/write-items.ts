import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import type { ContentPart, ConversationItem } from '../../model/conversation.ts'
import type { LaneTarget } from '../lane-target.ts'
import { opaqueForLane } from '../seals/opaque-for-lane.ts'
import { mapCallIds } from '../tools/past-calls.ts'
import type { ResponsesDialect } from './dialects.ts'
import type { ToolWriter } from './write-tools.ts'

/** The items of a conversation as a lane's input. */
export function writeItems(items: readonly ConversationItem[], lane: ItemsLane, tools: ToolWriter): readonly Fields[] {
  return withDistinctIds(items).flatMap((item) => writeItem(item, lane, tools))
}

/**
 * No two calls have the same id, as those of some providers have that were asked before: it would be refused. A result
 * belongs to the last call of its id before it.
 */
function withDistinctIds(items: readonly ConversationItem[]): readonly ConversationItem[] {
  const ids = mapCallIds()
  const last = new Map<string, string>()
  return items.map((item) => {
    if (item.type === 'tool-call') last.set(item.callId, ids.take(item.callId))
    if (item.type !== 'tool-call' && item.type !== 'tool-result') return item
    return { ...item, callId: last.get(item.callId) ?? item.callId }
  })
}

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
function writeMessage({ role, content, phase }: Extract<ConversationItem, { type: 'message' }>): readonly Fields[] {
  const parts = content.map((part) => writePart(part, role === 'assistant' ? 'output_text' : 'input_text'))
  if (role !== 'assistant') return [{ type: 'message', role, content: parts }]
  const said = parts.filter((part) => part.text !== '')
  return said.length === 0 ? [] : [{ type: 'message', role, content: said, ...(phase === undefined ? {} : { phase }) }]
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
      return {
        type: 'input_file',
        ...(part.data === undefined ? {} : { file_data: part.data }),
        ...(part.url === undefined ? {} : { file_url: part.url }),
        ...(part.id === undefined ? {} : { file_id: part.id }),
        ...(part.name === undefined ? {} : { filename: part.name }),
      }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    default:
      return assertNever(part)
  }
}

/** Text is one string, which every server takes; only what is more than text comes in parts. */
function writeOutput(content: readonly ContentPart[]): unknown {
  if (content.every((part) => part.type === 'text' || part.type === 'refusal')) {
    return content.map(({ text }) => text).join('')
  }
  return content.map((part) => writePart(part, 'input_text'))
}

/** Reasoning goes back sealed, to who has sealed it; never in words. */
function writeReasoning(
  { opaque, summary }: Extract<ConversationItem, { type: 'reasoning' }>,
  lane: ItemsLane,
): readonly Fields[] {
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
