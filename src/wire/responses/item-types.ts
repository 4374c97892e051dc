import type { Fields } from '../../lib/is-object.ts'
import { isAbsent } from '../fields/check-value.ts'

/** Items that mean something to every model. All others belong to hosted tools or to one client, and are left out. */
export type CarriedItemType =
  | 'message'
  | 'reasoning'
  | 'function_call'
  | 'function_call_output'
  | 'custom_tool_call'
  | 'custom_tool_call_output'
  | 'additional_tools'
  /** One that its provider alone can read: every other has become a message by now. */
  | 'compaction'

const CARRIED: ReadonlySet<unknown> = new Set<CarriedItemType>([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'additional_tools',
  'compaction',
])

/** Known items that go to no lane: of hosted tools, or of tools of one model or client. The conversation may have begun elsewhere. */
const LEFT_OUT: ReadonlySet<unknown> = new Set([
  ...['web_search_call', 'file_search_call', 'code_interpreter_call', 'image_generation_call'],
  ...['computer_call', 'computer_call_output', 'tool_search_call', 'tool_search_output'],
  ...['mcp_list_tools', 'mcp_call', 'mcp_approval_request', 'mcp_approval_response'],
  ...['local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output'],
  ...['apply_patch_call', 'apply_patch_call_output', 'program', 'program_output'],
  ...['configuration_update', 'agent_message', 'context_compaction'],
])

export const isLeftOutType = (type: unknown): boolean => LEFT_OUT.has(type)

export const isCarriedType = (type: unknown): type is CarriedItemType => CARRIED.has(type)

/** Clients leave the type of a message out, and that of a reference. Undefined: it is neither. */
export function typeOfItem(item: Readonly<Fields>): unknown {
  if (!isAbsent(item.type)) return item.type
  if (!isAbsent(item.role)) return 'message'
  return typeof item.id === 'string' ? 'item_reference' : undefined
}

export const isOutputType = (type: unknown): boolean => typeof type === 'string' && type.endsWith('_output')

/** Whose `call_id` an output may answer: a call that goes to a model. */
export const isCallType = (type: unknown): boolean => type === 'function_call' || type === 'custom_tool_call'
