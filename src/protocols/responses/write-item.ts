import { assertNever, type Fields } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import type { Compacted } from '../../model/turn.ts'
import type { MintIds } from '../shared/event-reader.ts'
import { type ItemKind, isCall, nameOfCall, type OutputItem, type OutputPart, type PartKind } from './item-events.ts'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** Whether a client has asked for sealed reasoning: what it has not asked for is not sent to it. */
export type SealsShown = 'shown' | 'hidden'

/** An item as the client knows it: the provider's own fields, under ids that are ours. */
export interface EmittedItem {
  readonly item: OutputItem
  readonly id: string
  readonly callId: string | undefined
  /** Its place among the items that the client is told of; undefined until it is one of them. */
  outputIndex: number | undefined
  /** What the client is told of what it says. */
  readonly parts: EmittedPart[]
  /** How the client has been told that it is over; undefined while for the client it goes on. */
  status: 'completed' | 'incomplete' | undefined
  /** Our envelope around what the provider has sealed: made once, so that it is the same text wherever it is told. */
  envelope: string | undefined
}

/** A part as the client knows it: raw reasoning may be a summary there, and parts without words have no place. */
export interface EmittedPart {
  readonly part: OutputPart
  readonly kind: PartKind
  readonly index: number
  /** What is around its words where nothing else is said: the same for all of them, so made once. */
  around: TextEnvelope | undefined
}

/** A delta up to its number, from there to its words, and behind them; as a character for each byte. */
export interface TextEnvelope {
  readonly head: string
  readonly before: string
  readonly behind: string
}

const PREFIX = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  compaction: 'cmp',
} as const satisfies Record<ItemKind, Parameters<MintIds['itemId']>[0]>

export const emitItem = (item: OutputItem, mint: MintIds): EmittedItem => ({
  item,
  id: mint.itemId(PREFIX[item.kind]),
  callId: isCall(item.kind) ? (item.callId ?? mint.callId()) : undefined,
  outputIndex: undefined,
  parts: [],
  status: undefined,
  envelope: undefined,
})

/** The item as it begins: everything that it will say is still empty, but for one that is told at once. */
export const itemAtStart = (said: EmittedItem, how: HowShown): Fields =>
  said.item.kind === 'compaction' ? itemAtEnd(said, how) : itemWith(said, 'in_progress', [])

export interface HowShown extends Sealing {
  readonly seals: SealsShown
  /** The status of one that has not ended; `incomplete` where nothing else is said. */
  readonly openAs?: ItemStatus
}

/** The item as it stands: whole when it has ended, and else as far as it has been said. */
export function itemAtEnd(said: EmittedItem, { seals, openAs, ...sealing }: HowShown): Fields {
  const status = said.status ?? openAs ?? 'incomplete'
  const fields = itemWith(said, status, said.parts.map(partAtEnd))
  const { kind, opaque } = said.item
  // What is sealed of a reasoning is shorter at the beginning than at the end, and only the end counts.
  const isShown = kind === 'compaction' || (seals === 'shown' && status !== 'in_progress')
  if (opaque === undefined || !isShown) return fields
  said.envelope ??= envelopeAround(opaque, kind, sealing)
  fields.encrypted_content = said.envelope
  return fields
}

const envelopeAround = (opaque: Opaque, kind: ItemKind, { sealReasoning, sealCompaction }: Sealing): string =>
  kind === 'compaction' ? sealCompaction({ kind: 'native', opaque }) : sealReasoning(opaque)

function itemWith(said: EmittedItem, status: ItemStatus, shown: readonly Fields[]): Fields {
  const fields = headOf(said)
  const { kind } = said.item
  switch (kind) {
    case 'message':
      fields.status = status
      fields.content = shown
      return fields
    case 'reasoning':
      // Only what was cut needs one; where the provider has given one it stays.
      if (fields.status !== undefined || status === 'incomplete') fields.status = status
      return withThoughts(fields, said, shown)
    case 'function_call':
      fields.status = status
      fields.arguments = shown[0]?.text ?? ''
      return fields
    case 'custom_tool_call':
      fields.status = status
      fields.input = shown[0]?.text ?? ''
      return fields
    case 'compaction':
      return fields
    default:
      return assertNever(kind)
  }
}

/** Summaries or a text, never both, and what the provider has of them only as far as it is told. */
function withThoughts(fields: Fields, { parts }: EmittedItem, shown: readonly Fields[]): Fields {
  const isRaw = parts[0]?.kind === 'reasoning_text'
  fields.summary = isRaw ? [] : shown
  if (isRaw) fields.content = shown
  else delete fields.content
  return fields
}

function headOf({ item, id, callId }: EmittedItem): Fields {
  const { kind, fields } = item
  const head: Fields = { id, type: kind }
  for (const name in fields) if (!OURS.has(name)) head[name] = fields[name]
  if (kind === 'message') head.role = 'assistant'
  if (callId !== undefined) {
    head.call_id = callId
    head.name = nameOfCall(item)
  }
  return head
}

/** What the provider says of these the client is told in other words. */
const OURS = new Set(['id', 'type', 'call_id', 'encrypted_content', '__proto__'])

/** A part with nothing in it yet. */
export function partAtStart({ kind, part: { fields } }: EmittedPart): Fields {
  if (kind === 'refusal') return { ...fields, type: kind, refusal: '' }
  if (kind === 'output_text') return { ...fields, type: kind, text: '', annotations: [], logprobs: [] }
  return { ...fields, type: kind, text: '' }
}

export function partAtEnd({ kind, part }: EmittedPart): Fields {
  const { fields, text } = part
  if (kind === 'refusal') return { ...fields, type: kind, refusal: text }
  if (kind !== 'output_text') return { ...fields, type: kind, text }
  const annotations =
    Array.isArray(fields.annotations) && fields.annotations.length > 0 ? fields.annotations : part.annotations
  return { ...fields, type: kind, text, annotations, logprobs: logprobsOf(part) }
}

export const logprobsOf = ({ fields, ended }: OutputPart): readonly unknown[] => {
  const logprobs = fields.logprobs ?? ended?.logprobs
  return Array.isArray(logprobs) ? logprobs : []
}

/** How what only we or a provider can read is put into an envelope of ours, for the client to carry. */
export interface Sealing {
  readonly sealReasoning: (opaque: Opaque) => string
  readonly sealCompaction: (compacted: Compacted) => string
}
