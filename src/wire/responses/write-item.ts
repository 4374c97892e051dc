import { assertNever } from '../../lib/assert-never.ts'
import type { Fields } from '../../lib/is-object.ts'
import type { MintIds } from '../mint-ids.ts'
import type { ItemStatus, SealsShown } from './output-item.ts'
import { type ItemKind, isCall, nameOfCall, type PartKind, type SpokenItem, type SpokenPart } from './spoken-item.ts'

/** An item as the client knows it: the provider's own fields, under ids that are ours. */
export interface SaidItem {
  readonly item: SpokenItem
  readonly id: string
  readonly callId: string | undefined
  /** Its place among the items that the client is told of; undefined until it is one of them. */
  outputIndex: number | undefined
  /** What the client is told of what it says. */
  readonly parts: SaidPart[]
  /** How the client has been told that it is over; undefined while for the client it goes on. */
  status: 'completed' | 'incomplete' | undefined
  /** Our envelope around what the provider has sealed: made once, so that it is the same text wherever it is told. */
  envelope: string | undefined
}

/** A part as the client knows it: raw reasoning may be a summary there, and parts without words have no place. */
export interface SaidPart {
  readonly part: SpokenPart
  readonly kind: PartKind
  readonly index: number
}

const PREFIX = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  compaction: 'cmp',
} as const satisfies Record<ItemKind, Parameters<MintIds['itemId']>[0]>

export const sayItem = (item: SpokenItem, mint: MintIds): SaidItem => ({
  item,
  id: mint.itemId(PREFIX[item.kind]),
  callId: isCall(item.kind) ? mint.callId() : undefined,
  outputIndex: undefined,
  parts: [],
  status: undefined,
  envelope: undefined,
})

/** The item as it begins: everything that it will say is still empty. */
export function itemAtStart(said: SaidItem): Fields {
  const { item, parts } = said
  // What is sealed is shorter at the beginning than at the end, and only the end counts.
  const { encrypted_content: _sealed, ...fields } = headOf(said)
  const inProgress = item.kind === 'reasoning' && fields.status === undefined ? {} : { status: 'in_progress' }
  switch (item.kind) {
    case 'message':
      return { ...fields, ...inProgress, content: [] }
    case 'reasoning':
      return { ...fields, ...inProgress, ...reasoningOf([]), ...(isRaw(parts) ? { content: [] } : {}) }
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
  readonly seals: SealsShown
  /** An envelope around what the provider has sealed. */
  readonly seal: (data: string) => string
  /** The same around a conversation that it has made short. */
  readonly sealCompaction: (data: string) => string
  /** The status of one that has not ended; `incomplete` where nothing else is said. */
  readonly openAs?: ItemStatus
}

/** The item as it stands: whole when it has ended, and else as far as it has been said. */
export function itemAtEnd(said: SaidItem, options: HowShown): Fields {
  const { item, parts } = said
  const { encrypted_content: sealed, ...fields } = headOf(said)
  const status = { status: said.status ?? options.openAs ?? 'incomplete' }
  switch (item.kind) {
    case 'message':
      return { ...fields, ...status, content: parts.map(partAtEnd) }
    case 'reasoning':
      return { ...fields, ...reasoningStatus(fields, status), ...reasoningOf(parts), ...sealOf(said, status, options) }
    case 'function_call':
      return { ...fields, ...status, arguments: parts[0]?.part.text ?? '' }
    case 'custom_tool_call':
      return { ...fields, ...status, input: parts[0]?.part.text ?? '' }
    case 'compaction':
      return { ...fields, ...compactionOf(said, options) }
    default:
      return assertNever(item.kind)
  }
}

function sealOf(said: SaidItem, { status }: { readonly status: ItemStatus }, { seals, seal }: HowShown): Fields {
  const { encrypted_content: sealed } = said.item.fields
  if (seals === 'hidden' || status === 'in_progress' || typeof sealed !== 'string' || sealed === '') return {}
  said.envelope ??= seal(sealed)
  return { encrypted_content: said.envelope }
}

function compactionOf(said: SaidItem, { sealCompaction }: HowShown): Fields {
  const { encrypted_content: sealed } = said.item.fields
  if (typeof sealed !== 'string') return {}
  said.envelope ??= sealCompaction(sealed)
  return { encrypted_content: said.envelope }
}

function headOf({ item, id, callId }: SaidItem): Fields {
  const { id: _theirs, type: _type, call_id: _call, ...fields } = item.fields
  const head: Fields = { id, type: item.kind, ...fields }
  if (item.kind === 'message') head.role = 'assistant'
  // What the provider has of these is told in parts, and not all of it.
  if (item.kind === 'reasoning') {
    delete head.summary
    delete head.content
  }
  if (callId !== undefined) {
    head.call_id = callId
    head.name = nameOfCall(item)
  }
  return head
}

/** Only what was cut needs one; where the provider has given one it stays. */
const reasoningStatus = (fields: Fields, status: { readonly status: ItemStatus }): Fields =>
  fields.status === undefined && status.status !== 'incomplete' ? {} : status

const isRaw = (parts: readonly SaidPart[]): boolean => parts[0]?.kind === 'reasoning_text'

/** Summaries or a text, never both. */
const reasoningOf = (parts: readonly SaidPart[]): Fields =>
  isRaw(parts) ? { summary: [], content: parts.map(partAtEnd) } : { summary: parts.map(partAtEnd) }

/** A part with nothing in it yet. */
export function partAtStart({ kind, part: { fields } }: SaidPart): Fields {
  if (kind === 'refusal') return { ...fields, type: kind, refusal: '' }
  if (kind === 'output_text') return { ...fields, type: kind, text: '', annotations: [], logprobs: [] }
  return { ...fields, type: kind, text: '' }
}

export function partAtEnd({ kind, part }: SaidPart): Fields {
  const { fields, text } = part
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
