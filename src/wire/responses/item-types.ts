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
