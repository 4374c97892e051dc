import { assertNever, type Fields } from '../../lib/types.ts'
import type { Opaque } from '../../model/event.ts'
import type { Compacted } from '../../model/turn.ts'
import type { MintIds } from '../shared/codec-types.ts'
import {
  type AnnotationEvent,
  type ItemEvent,
  type ItemKind,
  isCall,
  nameOfCall,
  OUR_EVENT_FIELDS,
  type OutputItem,
  type OutputPart,
  type PartKind,
} from './item-events.ts'
import { type DeltaTemplate, frameHead, type UnsentEvent } from './response-frames.ts'

/** Wraps data that only we or a provider can read in an envelope of ours, for the client to carry. */
export interface Sealing {
  readonly sealReasoning: (opaque: Opaque) => string
  readonly sealCompaction: (compacted: Compacted) => string
}

export interface EmitOptions extends Sealing {
  readonly mint: MintIds
  /** Whether the client asked for sealed reasoning. */
  readonly seals: 'shown' | 'hidden'
  /** A client that asked for summaries gets raw reasoning as a summary. */
  readonly rawReasoning: 'as-summary' | 'as-it-comes'
}

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** An item as the client gets it: the provider's own fields, under ids that are ours. */
interface EmittedItem {
  readonly source: OutputItem
  readonly id: string
  readonly callId: string | undefined
  /** Undefined until the client gets the item. */
  outputIndex: number | undefined
  readonly parts: EmittedPart[]
  /** The status that the client got; undefined while the item is open. */
  status: 'completed' | 'incomplete' | undefined
  /** Our envelope around its sealed data, made once so that it is the same text everywhere. */
  envelope: string | undefined
}

/** A part as the client gets it. Raw reasoning may be a summary there, and parts without text have no index. */
interface EmittedPart {
  readonly source: OutputPart
  readonly kind: PartKind
  readonly index: number
  /** The frame of its deltas that have no fields of the provider. */
  template: DeltaTemplate | undefined
}

interface OpenPart {
  readonly item: EmittedItem
  readonly part: EmittedPart
}

/** Writes item events for a client: items that have content, in their order, with output indexes without a gap. */
export class ItemEmitter {
  /** Events that are not sent yet. They have no numbers, because other frames may be sent before them. */
  unsent: UnsentEvent[] = []
  readonly #options: EmitOptions
  /** All items that have started, whether the client gets them or not. */
  readonly #items: EmittedItem[] = []
  #emittedCount = 0
  /** The last emitted item stays open until the next one or the end: if the answer is truncated, it is the incomplete one. */
  #last: EmittedItem | undefined
  #open: OpenPart | undefined
  /** Sealed reasoning behind a message, which is emitted only if another item follows. */
  readonly #waiting: EmittedItem[] = []
  /** Annotations of a part that has no text yet. */
  #earlyAnnotations: AnnotationEvent[] = []

  constructor(options: EmitOptions) {
    this.#options = options
  }

  emit(event: ItemEvent): void {
    const item = this.#itemOf(event.item)
    switch (event.type) {
      case 'item-start':
        // A call is emitted with its name; a message or a reasoning with its first text.
        if (isCall(event.item.kind)) this.#startItem(item)
        return
      case 'part-start':
        if (isCall(event.item.kind)) this.#startPart(item, event.part, event.part.kind)
        return
      case 'delta': {
        const part = this.#partOf(item, event.part) ?? this.#startTextPart(item, event.part)
        if (part === undefined) return
        const { event: fields, text } = event
        this.unsent.push(
          fields === undefined
            ? { template: plainTemplate(item, part), text }
            : [`${EVENTS[part.kind].text}.delta`, deltaFields(item, part, text, fields)],
        )
        return
      }
      case 'annotation': {
        const part = this.#partOf(item, event.part)
        if (part === undefined) this.#earlyAnnotations.push(event)
        else this.unsent.push(annotationEvent(event, item, part))
        return
      }
      case 'part-end': {
        const part = this.#partOf(item, event.part)
        this.#open = undefined
        if (part !== undefined) this.unsent.push(...partEndEvents(item, part))
        return
      }
      case 'item-end':
        // An item with nothing but a seal is emitted here even if the client does not see the seal: the client refers to the
        // item by its id in a later request, which brings the seal back.
        if (event.item.opaque !== undefined && !this.#waitsForNext(item)) this.#startItem(item)
        return
      default:
        assertNever(event)
    }
  }

  /** Ends the last item. The provider's own status of an item does not count: only the last item of a truncated answer is incomplete. */
  end(status: 'completed' | 'incomplete'): void {
    const last = this.#last
    if (last === undefined || last.status !== undefined) return
    last.status = status
    const item = itemAtEnd(last, this.#options)
    this.unsent.push(['response.output_item.done', { output_index: last.outputIndex, item }])
  }

  /** The items as the client got them; an open one has this status. */
  items(openAs: ItemStatus = 'incomplete'): readonly Fields[] {
    const items: Fields[] = []
    for (const item of this.#items) {
      if (item.outputIndex !== undefined) items.push(itemAtEnd(item, this.#options, openAs))
    }
    return items
  }

  /** The same with all sealed data, whether the client asked for it or not: providers want it back. */
  storedItems(): readonly Fields[] {
    const emitted = this.#items.filter(({ outputIndex }) => outputIndex !== undefined)
    return emitted.map((item) => itemAtEnd(item, { ...this.#options, seals: 'shown' }))
  }

  /** An empty delta of the open part, which breaks a silence without adding text; undefined where no part is open. */
  emptyDelta(): UnsentEvent | undefined {
    return this.#open && { template: plainTemplate(this.#open.item, this.#open.part), text: '' }
  }

  /** Items come one after the other: an event belongs to the last item, or starts the next one. */
  #itemOf(source: OutputItem): EmittedItem {
    const last = this.#items[this.#items.length - 1]
    if (last?.source === source) return last
    const { mint } = this.#options
    const item: EmittedItem = {
      source,
      id: mint.itemId(ID_PREFIX[source.kind]),
      callId: isCall(source.kind) ? (source.callId ?? mint.callId()) : undefined,
      outputIndex: undefined,
      parts: [],
      status: undefined,
      envelope: undefined,
    }
    this.#items.push(item)
    this.#earlyAnnotations = []
    return item
  }

  #partOf({ parts }: EmittedItem, source: OutputPart): EmittedPart | undefined {
    const open = this.#open?.part
    return open?.source === source ? open : parts.find((part) => part.source === source)
  }

  #startItem(item: EmittedItem): void {
    if (item.outputIndex !== undefined) return
    for (const next of [...this.#waiting.splice(0), item]) {
      this.end('completed')
      next.outputIndex = this.#emittedCount
      this.#emittedCount += 1
      this.#last = next
      // Without content, except for a compaction, which is emitted at once.
      const isWhole = next.source.kind === 'compaction'
      const started = isWhole ? itemAtEnd(next, this.#options) : itemWith(next, 'in_progress', [])
      const fields = { output_index: next.outputIndex, item: started }
      this.unsent.push(['response.output_item.added', fields])
    }
  }

  /** Starts a part, and its item where that is not emitted yet. */
  #startPart(item: EmittedItem, source: OutputPart, kind: PartKind): EmittedPart {
    const part: EmittedPart = { source, kind, index: item.parts.length, template: undefined }
    item.parts.push(part)
    const annotations = this.#earlyAnnotations
    this.#earlyAnnotations = []
    this.#open = { item, part }
    this.#startItem(item)
    const name = EVENTS[kind].part
    if (name !== undefined) {
      this.unsent.push([`${name}.added`, { ...addressOf(item, part), part: partAtStart(part) }])
    }
    for (const event of annotations) if (event.part === source) this.unsent.push(annotationEvent(event, item, part))
    return part
  }

  /**
   * Starts a part with its first text; undefined for text that the client does not get. A reasoning has summaries or raw text,
   * never both: its own summary is preferred, but text that was sent stays.
   */
  #startTextPart(item: EmittedItem, source: OutputPart): EmittedPart | undefined {
    const { kind } = source
    if (kind === 'reasoning_text') {
      if (item.parts.some((part) => part.source.kind === 'summary_text')) return undefined
      return this.#startPart(item, source, this.#options.rawReasoning === 'as-summary' ? 'summary_text' : kind)
    }
    if (kind === 'summary_text' && item.parts.some((part) => part.kind === 'reasoning_text')) return undefined
    return this.#startPart(item, source, kind)
  }

  /**
   * Some providers sign a message in a reasoning item behind it. Where the client does not see the seal, that item waits until
   * another one follows, because many clients look for the answer in the last item.
   */
  #waitsForNext(item: EmittedItem): boolean {
    const waits =
      this.#options.seals === 'hidden' && item.outputIndex === undefined && this.#last?.source.kind === 'message'
    if (waits) this.#waiting.push(item)
    return waits
  }
}

const ID_PREFIX = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  compaction: 'cmp',
} as const satisfies Record<ItemKind, Parameters<MintIds['itemId']>[0]>

// Events.

/** The names of the events of a part, and the field of its text. A call has no part events. */
const EVENTS: Readonly<Record<PartKind, { readonly text: string; readonly field: string; readonly part?: string }>> = {
  output_text: { text: 'response.output_text', field: 'text', part: 'response.content_part' },
  refusal: { text: 'response.refusal', field: 'refusal', part: 'response.content_part' },
  reasoning_text: { text: 'response.reasoning_text', field: 'text', part: 'response.content_part' },
  summary_text: { text: 'response.reasoning_summary_text', field: 'text', part: 'response.reasoning_summary_part' },
  arguments: { text: 'response.function_call_arguments', field: 'arguments' },
  input: { text: 'response.custom_tool_call_input', field: 'input' },
}

function addressOf({ id, outputIndex }: EmittedItem, { kind, index }: EmittedPart): Fields {
  if (kind === 'arguments' || kind === 'input') return { item_id: id, output_index: outputIndex }
  return kind === 'summary_text'
    ? { item_id: id, output_index: outputIndex, summary_index: index }
    : { item_id: id, output_index: outputIndex, content_index: index }
}

function deltaFields(item: EmittedItem, part: EmittedPart, delta: string, event: Fields | undefined): Fields {
  const fields = addressOf(item, part)
  fields.delta = delta
  if (part.kind === 'output_text') fields.logprobs = Array.isArray(event?.logprobs) ? event.logprobs : []
  return event === undefined ? fields : withProviderFields(fields, event)
}

/** What stands around the text of a delta without other fields: it is the same for all deltas of the part. */
function plainTemplate(item: EmittedItem, part: EmittedPart): DeltaTemplate {
  if (part.template !== undefined) return part.template
  const members = JSON.stringify(deltaFields(item, part, '', undefined)).slice(1, -1)
  // The first match is the right one: only ids and indexes stand before it.
  const at = members.indexOf('"delta":""') + '"delta":"'.length
  const head = frameHead(`${EVENTS[part.kind].text}.delta`)
  part.template = { head, before: `,${members.slice(0, at)}`, behind: members.slice(at) }
  return part.template
}

function annotationEvent({ event, index }: AnnotationEvent, item: EmittedItem, part: EmittedPart): UnsentEvent {
  const fields = { ...addressOf(item, part), annotation_index: index, annotation: event.annotation }
  return ['response.output_text.annotation.added', withProviderFields(fields, event)]
}

function partEndEvents(item: EmittedItem, part: EmittedPart): readonly UnsentEvent[] {
  const { kind, source } = part
  const names = EVENTS[kind]
  const fields = addressOf(item, part)
  if (kind === 'arguments') fields.name = nameOfCall(item.source)
  fields[names.field] = source.text
  if (kind === 'output_text') fields.logprobs = logprobsOf(source)
  const textDone: UnsentEvent = [`${names.text}.done`, withProviderFields(fields, source.ended)]
  if (names.part === undefined) return [textDone]
  return [textDone, [`${names.part}.done`, { ...addressOf(item, part), part: partAtEnd(part) }]]
}

/** Adds the fields of the provider's event that we do not write ourselves. */
function withProviderFields(fields: Fields, event: Fields | undefined): Fields {
  for (const name in event) if (!OUR_EVENT_FIELDS.has(name)) fields[name] = event[name]
  return fields
}

// Items and parts.

/** The item as it stands: whole when it has ended, otherwise with its content so far. */
function itemAtEnd(
  item: EmittedItem,
  { seals, sealReasoning, sealCompaction }: EmitOptions,
  openAs: ItemStatus = 'incomplete',
): Fields {
  const status = item.status ?? openAs
  const fields = itemWith(item, status, item.parts.map(partAtEnd))
  const { kind, opaque } = item.source
  // Sealed reasoning is complete only at the end of its item.
  const isShown = kind === 'compaction' || (seals === 'shown' && status !== 'in_progress')
  if (opaque === undefined || !isShown) return fields
  item.envelope ??= kind === 'compaction' ? sealCompaction({ kind: 'native', opaque }) : sealReasoning(opaque)
  fields.encrypted_content = item.envelope
  return fields
}

function itemWith({ source, id, callId, parts }: EmittedItem, status: ItemStatus, content: readonly Fields[]): Fields {
  const { kind } = source
  const fields: Fields = { id, type: kind }
  for (const name in source.fields) if (!OUR_ITEM_FIELDS.has(name)) fields[name] = source.fields[name]
  if (kind === 'message') fields.role = 'assistant'
  if (callId !== undefined) {
    fields.call_id = callId
    fields.name = nameOfCall(source)
  }
  switch (kind) {
    case 'message':
      fields.status = status
      fields.content = content
      return fields
    case 'reasoning': {
      // Only an incomplete reasoning needs a status; one that the provider sent stays.
      if (fields.status !== undefined || status === 'incomplete') fields.status = status
      const isRaw = parts[0]?.kind === 'reasoning_text'
      fields.summary = isRaw ? [] : content
      if (isRaw) fields.content = content
      else delete fields.content
      return fields
    }
    case 'function_call':
      fields.status = status
      fields.arguments = content[0]?.text ?? ''
      return fields
    case 'custom_tool_call':
      fields.status = status
      fields.input = content[0]?.text ?? ''
      return fields
    case 'compaction':
      return fields
    default:
      return assertNever(kind)
  }
}

/** The client gets other values of these. */
const OUR_ITEM_FIELDS = new Set(['id', 'type', 'call_id', 'encrypted_content', '__proto__'])

function partAtStart({ kind, source: { fields } }: EmittedPart): Fields {
  if (kind === 'refusal') return { ...fields, type: kind, refusal: '' }
  if (kind === 'output_text') return { ...fields, type: kind, text: '', annotations: [], logprobs: [] }
  return { ...fields, type: kind, text: '' }
}

function partAtEnd({ kind, source }: EmittedPart): Fields {
  const { fields, text } = source
  if (kind === 'refusal') return { ...fields, type: kind, refusal: text }
  if (kind !== 'output_text') return { ...fields, type: kind, text }
  const annotations =
    Array.isArray(fields.annotations) && fields.annotations.length > 0 ? fields.annotations : source.annotations
  return { ...fields, type: kind, text, annotations, logprobs: logprobsOf(source) }
}

function logprobsOf({ fields, ended }: OutputPart): readonly unknown[] {
  const logprobs = fields.logprobs ?? ended?.logprobs
  return Array.isArray(logprobs) ? logprobs : []
}
