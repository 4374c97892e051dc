import type { Fields } from '../../lib/types.ts'
import type { RequestBody } from '../../model/turn.ts'
import { isAbsent } from '../fields/check-value.ts'
import { arrayElements } from '../json/bytes.ts'
import { ABORTED } from '../shared/texts.ts'
import { ownTools } from './parse-tools.ts'

type Item = Readonly<Fields>

/** Items that every model understands. All others belong to hosted tools or to one client, and are left out. */
const FORWARDED_TYPES = [
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'additional_tools',
  // Only one that its provider alone can read: any other has become a message by now.
  'compaction',
] as const

export type ForwardedItemType = (typeof FORWARDED_TYPES)[number]

const FORWARDED: ReadonlySet<unknown> = new Set(FORWARDED_TYPES)

export const isForwardedType = (type: unknown): type is ForwardedItemType => FORWARDED.has(type)

/**
 * Known items that go to no lane: of hosted tools, or of tools of one model or client. Such a conversation began at another
 * provider.
 */
const LEFT_OUT_TYPES: ReadonlySet<unknown> = new Set([
  ...['web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call'],
  ...['computer_call', 'computer_call_output', 'tool_search_call', 'tool_search_output'],
  ...['mcp_list_tools', 'mcp_call', 'mcp_approval_request', 'mcp_approval_response'],
  ...['local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output', 'program', 'program_output'],
  ...['configuration_update', 'agent_message', 'context_compaction'],
])

export const isLeftOutType = (type: unknown): boolean => LEFT_OUT_TYPES.has(type)

export const isOutputType = (type: unknown): boolean => typeof type === 'string' && type.endsWith('_output')

/** The calls that go to a model, and whose `call_id` an output may answer. */
export const isCallType = (type: unknown): boolean => type === 'function_call' || type === 'custom_tool_call'

/** Clients omit the type of a message, and that of a reference. Undefined for an item that is neither. */
export function typeOfItem(item: Item): unknown {
  if (!isAbsent(item.type)) return item.type
  if (!isAbsent(item.role)) return 'message'
  return typeof item.id === 'string' ? 'item_reference' : undefined
}

const QUOTE = 0x22
const OPENING_BRACKET = 0x5b
const SPACE = 0x20

/** The items that a request was sent with. Where a name stands twice the last one counts, as for `JSON.parse`. */
export function elementsOfBody({ bytes, members }: RequestBody): Buffer[] {
  const member = members.findLast(({ name }) => name === 'input')
  return member === undefined ? [] : inputElements(bytes.subarray(member.valueStart, member.valueEnd))
}

/** The items of an input, each as JSON; a plain text is one user message. */
export function inputElements(input: Buffer): Buffer[] {
  if (input[0] === QUOTE) {
    return [Buffer.concat([Buffer.from('{"type":"message","role":"user","content":'), input, Buffer.from('}')])]
  }
  return input[0] === OPENING_BRACKET ? arrayElements(input).map(trim) : []
}

/** Without surrounding space, so that the same item always has the same bytes. */
function trim(element: Buffer): Buffer {
  let start = 0
  let end = element.length
  while (start < end && element[start]! <= SPACE) start++
  while (end > start && element[end - 1]! <= SPACE) end--
  return element.subarray(start, end)
}

/**
 * The items of a checked input that go to a model, on any lane. Items of hosted tools and of one client are left out,
 * and so are hosted tools that an item adds. The output of a call that is left out goes with it: `local_shell_call`, for one,
 * is answered by a `function_call_output`. An aborted call gets an output that says so, behind all calls that were made at
 * once, because providers refuse a call without an output.
 */
export function forwardedItems(items: readonly Item[]): Item[] {
  const { called, answered } = pairOutputs(items)
  const forwarded: Item[] = []
  const aborted: Item[] = []
  for (const item of items) {
    const type = typeOfItem(item)
    if (!isForwardedType(type) || (isOutputType(type) && !called.has(item.call_id))) continue
    if (!isCallType(type)) forwarded.push(...aborted.splice(0))
    forwarded.push(...(type === 'additional_tools' ? withOwnTools(item) : [item]))
    if (isCallType(type) && !answered.has(item)) {
      aborted.push({ type: `${item.type}_output`, call_id: item.call_id, output: ABORTED })
    }
  }
  forwarded.push(...aborted)
  return forwarded
}

/** An output belongs to the last call before it with its id, because some providers reuse ids in later turns. */
function pairOutputs(items: readonly Item[]) {
  const called = new Map<unknown, Item>()
  const answered = new Set<Item>()
  const early = new Set<unknown>()
  for (const item of items) {
    const type = typeOfItem(item)
    if (isCallType(type)) {
      called.set(item.call_id, item)
      if (early.delete(item.call_id)) answered.add(item)
    } else if (isOutputType(type)) {
      const call = called.get(item.call_id)
      if (call === undefined) early.add(item.call_id)
      else answered.add(call)
    }
  }
  return { called, answered }
}

function withOwnTools(item: Item): Item[] {
  const tools = item.tools as Fields[]
  const kept = ownTools(tools).kept.filter((tool) => tool !== undefined)
  if (kept.length === 0) return []
  return kept.length === tools.length && kept.every((tool, at) => tool === tools[at])
    ? [item]
    : [{ ...item, tools: kept }]
}

/**
 * Checked items in the form that every server accepts; an item without a fault stays the same object. Clients give a role the
 * text parts of the other role, or those of Chat, and servers refuse them; an assistant message without text is dropped.
 */
export function repairItems(items: readonly Item[]): Item[] {
  return items.flatMap((item, at) => {
    const type = typeOfItem(item)
    if (type === 'message') {
      // Sealed reasoning must be followed by the item that it led to, even an empty one.
      if (item.role === 'assistant' && isEmpty(item.content) && items[at - 1]?.type !== 'reasoning') return []
      return [withTextType(item, 'content', item.role === 'assistant' ? 'output_text' : 'input_text')]
    }
    return [isOutputType(type) ? withTextType(item, 'output', 'input_text') : item]
  })
}

const isEmpty = (content: unknown): boolean =>
  isAbsent(content) || content === '' || (Array.isArray(content) && content.every(({ text }) => text === ''))

function withTextType(item: Item, member: 'content' | 'output', type: 'input_text' | 'output_text'): Item {
  const parts = item[member]
  const isMistyped = (part: Fields): boolean => part.type !== type && typeof part.text === 'string'
  if (!Array.isArray(parts) || !parts.some(isMistyped)) return item
  // Only the text of an assistant has annotations.
  const others = type === 'output_text' ? { annotations: [] } : { annotations: undefined, logprobs: undefined }
  return { ...item, [member]: parts.map((part) => (isMistyped(part) ? { ...part, type, ...others } : part)) }
}
