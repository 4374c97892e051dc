import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import type { MintIds } from '../mint-ids.ts'
import type { ItemStatus } from './output-item.ts'
import { type ItemKind, isCall, nameOfCall, type SpokenItem, type SpokenPart } from './spoken-item.ts'

/** An item as the client knows it: the provider's own fields, under ids that are ours. */
export interface SaidItem {
  readonly item: SpokenItem
  readonly id: string
  readonly callId: string | undefined
  readonly outputIndex: number
}

const PREFIX = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  compaction: 'cmp',
} as const satisfies Record<ItemKind, Parameters<MintIds['itemId']>[0]>

export const sayItem = (item: SpokenItem, outputIndex: number, mint: MintIds): SaidItem => ({
  item,
  id: mint.itemId(PREFIX[item.kind]),
  callId: isCall(item.kind) ? mint.callId() : undefined,
  outputIndex,
})

/** The item as it begins: everything that it will say is still empty. */
export function itemAtStart(said: SaidItem): Fields {
  const { item } = said
  // What is sealed is shorter at the beginning than at the end, and only the end counts.
  const { encrypted_content: _sealed, ...fields } = headOf(said)
  const inProgress = item.kind === 'reasoning' && fields.status === undefined ? {} : { status: 'in_progress' }
  switch (item.kind) {
    case 'message':
      return { ...fields, ...inProgress, content: [] }
    case 'reasoning':
      return { ...fields, ...inProgress, summary: [], ...(Array.isArray(fields.content) ? { content: [] } : {}) }
    case 'function_call':
      return { ...fields, ...inProgress, arguments: '' }
    case 'custom_tool_call':
      return { ...fields, ...inProgress, input: '' }
    case 'compaction':
      return fields
    default:
      return assertNever(item.kind)
  }
}

export interface HowShown {
  readonly sealed: 'shown' | 'hidden'
  /** The status of one that has not ended; `incomplete` where nothing else is said. */
  readonly openAs?: ItemStatus
}

/** The item as it stands: whole when it has ended, and else as far as it has been said. */
export function itemAtEnd(said: SaidItem, options: HowShown): Fields {
  const { item } = said
  const { encrypted_content: sealed, ...fields } = headOf(said)
  const status = { status: item.status ?? options.openAs ?? 'incomplete' }
  const seal = options.sealed === 'shown' && typeof sealed === 'string' ? { encrypted_content: sealed } : {}
  switch (item.kind) {
    case 'message':
      return { ...fields, ...status, content: item.parts.map(partAtEnd) }
    case 'reasoning':
      return { ...fields, ...(fields.status === undefined ? {} : status), ...reasoningOf(item), ...seal }
    case 'function_call':
      return { ...fields, ...status, arguments: item.parts[0]?.text ?? '' }
    case 'custom_tool_call':
      return { ...fields, ...status, input: item.parts[0]?.text ?? '' }
    case 'compaction':
      return { ...fields, ...(typeof sealed === 'string' ? { encrypted_content: sealed } : {}) }
    default:
      return assertNever(item.kind)
  }
}

function headOf({ item, id, callId }: SaidItem): Fields {
  const { id: _theirs, type: _type, call_id: _call, ...fields } = item.fields
  const head: Fields = { id, type: item.kind, ...fields }
  if (item.kind === 'message') head.role = 'assistant'
  if (callId !== undefined) {
    head.call_id = callId
    head.name = nameOfCall(item)
  }
  return head
}

function reasoningOf({ parts, fields }: SpokenItem): Fields {
  const content = parts.filter(({ kind }) => kind === 'reasoning_text').map(partAtEnd)
  const summary = parts.filter(({ kind }) => kind === 'summary_text').map(partAtEnd)
  return content.length > 0 || Array.isArray(fields.content) ? { summary, content } : { summary }
}

/** A part with nothing in it yet. */
export function partAtStart({ kind, fields }: SpokenPart): Fields {
  if (kind === 'refusal') return { ...fields, type: kind, refusal: '' }
  if (kind === 'output_text') return { ...fields, type: kind, text: '', annotations: [], logprobs: [] }
  return { ...fields, type: kind, text: '' }
}

export function partAtEnd(part: SpokenPart): Fields {
  const { kind, fields, text } = part
  if (kind === 'refusal') return { ...fields, type: kind, refusal: text }
  if (kind !== 'output_text') return { ...fields, type: kind, text }
  const annotations =
    Array.isArray(fields.annotations) && fields.annotations.length > 0 ? fields.annotations : part.annotations
  return { ...fields, type: kind, text, annotations, logprobs: logprobsOf(part) }
}

export const logprobsOf = ({ fields, ended }: SpokenPart): readonly unknown[] => {
  const logprobs = fields.logprobs ?? ended?.logprobs
  return Array.isArray(logprobs) ? logprobs : []
}
