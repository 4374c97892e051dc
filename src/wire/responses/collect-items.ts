import { assertNever } from '../../lib/assert-never.ts'
import type { FinishReason, Opaque, TurnEvent } from '../../model/event.ts'
import type { MintIds } from '../mint-ids.ts'
import { isWorthShowing, type OutputItem, type OutputPart, type PartKind } from './output-item.ts'

export interface CollectorOptions {
  readonly mint: MintIds
  /** How the client wants to be told of reasoning that a lane gives raw. */
  readonly rawReasoning: 'as-summary' | 'as-it-comes'
  /** An envelope around what only a provider can read. */
  readonly seal: (opaque: Opaque) => string
}

/** The events of an answer, gathered into its items in the order in which these begin. */
export interface ItemCollector {
  /** Only the last of them may not be worth showing yet. */
  readonly items: readonly OutputItem[]
  /** Bytes of words in all of them that the client has not been sent; whoever sends some takes them off. */
  unsaidBytes: number
  /** There has been a text, a reasoning, a refusal or a call. */
  readonly hasContent: boolean
  /** Known once the answer is whole. */
  readonly reason: FinishReason | undefined
  take(event: TurnEvent): void
}

interface Collecting extends CollectorOptions {
  readonly items: OutputItem[]
  readonly calls: Map<number, OutputItem>
  /** The message or reasoning that was begun last and goes on. */
  current: OutputItem | undefined
  /** The next words are a part of their own. */
  breaksPart: boolean
  lastDelta: TurnEvent['type'] | undefined
  unsaidBytes: number
  hasContent: boolean
  reason: FinishReason | undefined
}

export function createItemCollector(options: CollectorOptions): ItemCollector {
  const collecting: Collecting & ItemCollector = {
    ...options,
    items: [],
    calls: new Map(),
    current: undefined,
    breaksPart: false,
    lastDelta: undefined,
    unsaidBytes: 0,
    hasContent: false,
    reason: undefined,
    take(event) {
      // Behind the end come counts at most.
      if (collecting.reason === undefined) takeEvent(collecting, event)
    },
  }
  return collecting
}

function takeEvent(collecting: Collecting, event: TurnEvent): void {
  const { type } = event
  if (type === 'text-delta') addToMessage(collecting, 'output_text', event)
  else if (type === 'refusal-delta') addToMessage(collecting, 'refusal', event)
  else if (type === 'reasoning-delta' || type === 'summary-delta') addToReasoning(collecting, event)
  else if (type === 'summary-start') collecting.breaksPart = collecting.current?.about.kind === 'reasoning'
  else if (type === 'message-start') begin(collecting, 'msg', { kind: 'message', phase: event.phase })
  else if (type === 'reasoning-start') begin(collecting, 'rs', { kind: 'reasoning' })
  else if (type === 'reasoning-seal') addSeal(collecting, event)
  else if (type === 'tool-call-start') beginCall(collecting, event)
  else if (type === 'tool-call-delta') addToCall(collecting, event)
  else if (type === 'tool-call-end') endCall(collecting, event.call)
  else if (type === 'turn-end') end(collecting, event.reason)
  // What was counted is in what the reader has heard.
  else if (type !== 'usage') assertNever(event)
}

function begin(collecting: Collecting, prefix: 'msg' | 'rs' | 'fc' | 'ctc', about: OutputItem['about']): OutputItem {
  endCurrent(collecting)
  const item: OutputItem = {
    id: collecting.mint.itemId(prefix),
    about,
    parts: [],
    seal: undefined,
    ended: false,
    unsaidBytes: 0,
  }
  collecting.items.push(item)
  collecting.current = about.kind === 'call' ? undefined : item
  collecting.breaksPart = false
  return item
}

/** It is the last of the items, because whatever begins ends it. If it has said nothing it has never been there. */
function endCurrent(collecting: Collecting): void {
  const { current, items } = collecting
  if (current === undefined) return
  current.ended = true
  if (!isWorthShowing(current)) items.pop()
  collecting.current = undefined
}

function endCall({ calls }: Collecting, call: number): void {
  const item = calls.get(call)
  if (item !== undefined) item.ended = true
}

type Delta = Extract<TurnEvent, { readonly text: string }>

function addToMessage(collecting: Collecting, kind: PartKind, delta: Delta): void {
  const logprobs = delta.type === 'text-delta' ? (delta.logprobs ?? []) : []
  if (delta.text === '' && logprobs.length === 0) return
  const { current } = collecting
  const message =
    current?.about.kind === 'message' ? current : begin(collecting, 'msg', { kind: 'message', phase: undefined })
  addWords(collecting, message, kind, delta)
  const part = message.parts.at(-1)
  for (const logprob of logprobs) {
    part?.logprobs.push(logprob)
    part?.unsaidLogprobs.push(logprob)
  }
}

/** A reasoning has summaries or a text, never both: where a lane tells both, they are two. */
function addToReasoning(collecting: Collecting, delta: Delta): void {
  if (delta.text === '') return
  const isTold = delta.type === 'summary-delta' || collecting.rawReasoning === 'as-summary'
  const kind = isTold ? 'summary_text' : 'reasoning_text'
  const { current, lastDelta, breaksPart } = collecting
  const goesOn = current?.about.kind === 'reasoning' && (current.parts[0]?.kind ?? kind) === kind
  const reasoning = goesOn ? current : begin(collecting, 'rs', { kind: 'reasoning' })
  collecting.breaksPart = goesOn && (breaksPart || lastDelta !== delta.type)
  addWords(collecting, reasoning, kind, delta)
}

/** Of two seals each has a reasoning of its own: providers want them back one by one. */
function addSeal(collecting: Collecting, { opaque }: Extract<TurnEvent, { type: 'reasoning-seal' }>): void {
  const { current } = collecting
  const goesOn = current?.about.kind === 'reasoning' && current.seal === undefined
  const reasoning = goesOn ? current : begin(collecting, 'rs', { kind: 'reasoning' })
  reasoning.seal = collecting.seal(opaque)
}

function beginCall(collecting: Collecting, event: Extract<TurnEvent, { type: 'tool-call-start' }>): void {
  const { call, callId, name, namespace, tool } = event
  endCall(collecting, call)
  const isCustom = tool === 'custom'
  const item = begin(collecting, isCustom ? 'ctc' : 'fc', { kind: 'call', tool, callId, name, namespace })
  item.parts.push(emptyPart(isCustom ? 'input' : 'arguments'))
  collecting.calls.set(call, item)
  collecting.hasContent = true
}

function addToCall(collecting: Collecting, { call, text }: Extract<TurnEvent, { type: 'tool-call-delta' }>): void {
  const item = collecting.calls.get(call)
  const part = item?.parts[0]
  if (item === undefined || part === undefined || item.ended) return
  appendWords(collecting, item, part, text)
}

function addWords(collecting: Collecting, item: OutputItem, kind: PartKind, { type, text }: Delta): void {
  let part = item.parts.at(-1)
  if (part === undefined || part.kind !== kind || collecting.breaksPart) {
    part = emptyPart(kind)
    item.parts.push(part)
  }
  collecting.breaksPart = false
  collecting.lastDelta = type
  collecting.hasContent ||= text !== ''
  appendWords(collecting, item, part, text)
}

function appendWords(collecting: Collecting, item: OutputItem, part: OutputPart, text: string): void {
  const bytes = Buffer.byteLength(text)
  part.text += text
  part.unsaid += text
  item.unsaidBytes += bytes
  collecting.unsaidBytes += bytes
}

const emptyPart = (kind: PartKind): OutputPart => ({
  kind,
  text: '',
  logprobs: [],
  unsaid: '',
  unsaidLogprobs: [],
})

function end(collecting: Collecting, reason: FinishReason): void {
  endCurrent(collecting)
  for (const item of collecting.items) item.ended = true
  collecting.reason = reason
}

/** The model was stopped before it had said what it wanted to. */
export const wasCut = (reason: FinishReason): boolean => reason === 'length' || reason === 'content-filter'
