import type { Fields } from '../../lib/is-object.ts'
import { stringOf } from '../../lib/string-of.ts'
import type { ContentPart, ConversationItem } from '../../model/conversation.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { markIn } from '../fields/cache-marks.ts'
import { TEXT_PARTS } from './check-content.ts'
import type { CarriedItemType } from './item-types.ts'
import { readPhase } from './read-phase.ts'

type Item = Readonly<Fields>

/** One item that has been checked at the door. Tools are no item of a conversation: they are read with the others. */
export function readItem(
  type: Exclude<CarriedItemType, 'additional_tools' | 'compaction'>,
  item: Item,
  sealed: ResponsesRequest['sealed'],
): ConversationItem {
  switch (type) {
    case 'message':
      return readMessage(item)
    case 'reasoning':
      return readReasoning(item, sealed)
    case 'function_call':
      return readCall(item, { tool: 'function', text: item.arguments })
    case 'custom_tool_call':
      return readCall(item, { tool: 'custom', text: item.input })
    case 'function_call_output':
      return { type: 'tool-result', tool: 'function', callId: item.call_id as string, content: readParts(item.output) }
    case 'custom_tool_call_output':
      return { type: 'tool-result', tool: 'custom', callId: item.call_id as string, content: readParts(item.output) }
  }
}

function readMessage({ role, content, phase }: Item): ConversationItem {
  return {
    type: 'message',
    role: role as 'system' | 'developer' | 'user' | 'assistant',
    content: readParts(content),
    phase: readPhase(phase),
    name: undefined,
  }
}

function readReasoning(
  { summary, content, encrypted_content: envelope }: Item,
  sealed: ResponsesRequest['sealed'],
): ConversationItem {
  return {
    type: 'reasoning',
    summary: textsOf(summary),
    text: textsOf(content).join(''),
    opaque: typeof envelope === 'string' ? sealed.get(envelope) : undefined,
  }
}

const textsOf = (content: unknown): string[] =>
  readParts(content).flatMap((part) => (part.type === 'text' ? [part.text] : []))

function readCall(
  { call_id: callId, name, namespace }: Item,
  { tool, text }: { tool: 'function' | 'custom'; text: unknown },
): ConversationItem {
  return {
    type: 'tool-call',
    tool,
    callId: callId as string,
    name: name as string,
    namespace: stringOf(namespace),
    text: (text as string | null | undefined) ?? '',
  }
}

/** A text counts as one part; nothing at all as none. */
function readParts(content: unknown): ContentPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return Array.isArray(content) ? content.map(readMarkedPart) : []
}

const readMarkedPart = (part: Item): ContentPart => ({ ...readPart(part), ...markIn(part) })

function readPart(part: Item): ContentPart {
  if (TEXT_PARTS.has(part.type)) return { type: 'text', text: part.text as string }
  switch (part.type) {
    case 'refusal':
      return { type: 'refusal', text: part.refusal as string }
    case 'input_image':
      return { type: 'image', url: part.image_url as string, detail: stringOf(part.detail) }
    case 'input_file':
      return {
        type: 'file',
        data: stringOf(part.file_data),
        url: stringOf(part.file_url),
        id: stringOf(part.file_id),
        name: stringOf(part.filename),
      }
    case 'input_audio': {
      const audio = part.input_audio as Fields
      return { type: 'audio', data: audio.data as string, format: audio.format as string }
    }
    default:
      throw new Error(`A part of type ${part.type} was let in at the door`)
  }
}
