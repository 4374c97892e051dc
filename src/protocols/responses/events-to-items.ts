import { assertNever, type Fields } from '../../lib/types.ts'
import type { CallStart, FinishReason, TokenLogprob, TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../shared/event-reader.ts'
import { newStreamState } from '../shared/stream-state.ts'
import type { EmitOptions } from './emit-items.ts'
import { ItemQueue, type ReceivedItem } from './item-queue.ts'
import {
  type AnswerEnding,
  type DeltaEvent,
  type ItemEvent,
  type ItemEventSource,
  type ItemKind,
  isCall,
  type OutputPart,
  type PartKind,
} from './item-events.ts'

/** Another protocol's answer, for a client that speaks Responses: its events become the items that they tell of. */
export function createItemEvents(reader: EventReader, rawReasoning: EmitOptions['rawReasoning']): ItemEventSource {
  const counts = { outputBytes: 0, heldBytes: 0, calls: 0 }
  const state = newStreamState()
  const forming = nothingFormed(new ItemQueue(counts, ''), rawReasoning)
  /** What the last frame was, where it was nothing but words of what is being told. */
  let delta: DeltaEvent | undefined
  /** The reader may hold something back too, so what it has heard is taken over, not shared. */
  const takeOver = (): void => {
    Object.assign(state, reader.state)
    state.heldBytes = Math.min(state.heldBytes + counts.heldBytes, state.outputBytes)
  }
  return {
    state,
    ending: () => forming.ending,
    read(frame) {
      const events = reader.read(frame)
      // Behind the end come counts at most.
      for (const event of events) if (forming.ending === undefined && !forming.queue.tooMany()) form(forming, event)
      takeOver()
      if (forming.queue.tooMany()) state.invalid = 'too many items'
      const steps = forming.queue.take()
      delta = events.length === 1 ? onlyWords(steps) : undefined
      return steps
    },
    readTemplated(frames) {
      const run = delta && reader.readTemplated(frames)
      if (run === undefined || delta === undefined) return undefined
      delta.part.text += run.text
      takeOver()
      return run
    },
  }
}

/** Nothing was begun or ended with them, and they have no log probabilities. */
function onlyWords(steps: readonly ItemEvent[]): DeltaEvent | undefined {
  const [step] = steps
  return steps.length === 1 && step?.type === 'delta' && step.event === undefined ? step : undefined
}

interface Forming {
  readonly queue: ItemQueue
  readonly rawReasoning: EmitOptions['rawReasoning']
  /** The calls that go on, by their numbers. */
  readonly calls: Map<number, ReceivedItem>
  /** The item that was begun last, and how many there are. */
  last: ReceivedItem | undefined
  itemCount: number
  /** The last one, where it ends when the next one begins: a message, a reasoning, or a call that is over. */
  current: ReceivedItem | undefined
  /** The next words of the reasoning are a part of their own. */
  breaksPart: boolean
  lastThought: TurnEvent['type'] | undefined
  ending: AnswerEnding | undefined
}

const nothingFormed = (queue: ItemQueue, rawReasoning: EmitOptions['rawReasoning']): Forming => ({
  queue,
  rawReasoning,
  calls: new Map(),
  last: undefined,
  itemCount: 0,
  current: undefined,
  breaksPart: false,
  lastThought: undefined,
  ending: undefined,
})

function form(forming: Forming, event: TurnEvent): void {
  const { type } = event
  if (type === 'text-delta') sayInMessage(forming, 'output_text', event.text, event.logprobs ?? [])
  else if (type === 'refusal-delta') sayInMessage(forming, 'refusal', event.text, [])
  else if (type === 'reasoning-delta' || type === 'summary-delta') think(forming, event)
  else if (type === 'summary-start') forming.breaksPart = true
  else if (type === 'message-start') begin(forming, 'message', event.phase === undefined ? {} : { phase: event.phase })
  else if (type === 'reasoning-start') begin(forming, 'reasoning', {})
  else if (type === 'reasoning-seal') seal(forming, event)
  else if (type === 'tool-call-start') beginCall(forming, event)
  else if (type === 'tool-call-delta') sayInCall(forming, event)
  else if (type === 'tool-call-end') endCall(forming, event.call)
  else if (type === 'turn-end') end(forming, event.reason)
  // What was counted is in what the reader has heard.
  else if (type !== 'usage') assertNever(event)
}

function end(forming: Forming, reason: FinishReason): void {
  forming.ending = ENDINGS[reason]
  forming.queue.endAll(forming.ending.kind)
}

/** The model was stopped before it had said what it wanted to, or it was not. */
const ENDINGS: Readonly<Record<FinishReason, AnswerEnding>> = {
  stop: { kind: 'completed' },
  'tool-calls': { kind: 'completed' },
  length: { kind: 'incomplete', reason: 'max_output_tokens' },
  'content-filter': { kind: 'incomplete', reason: 'content_filter' },
}

function begin(forming: Forming, kind: ItemKind, fields: Fields, callId?: string): ReceivedItem {
  const { queue, current } = forming
  if (current !== undefined) queue.end(current, 'completed')
  const item = queue.add({ kind, fields, index: forming.itemCount, ...(callId === undefined ? {} : { callId }) })
  forming.itemCount += 1
  forming.last = item
  forming.current = isCall(kind) ? undefined : item
  forming.breaksPart = false
  return item
}

/** The current item, where it is of this kind and more can be said in it. */
const currentOf = ({ current }: Forming, kind: ItemKind): ReceivedItem | undefined =>
  current?.item.kind === kind ? current : undefined

function sayInMessage(forming: Forming, kind: PartKind, text: string, logprobs: readonly TokenLogprob[]): void {
  if (text === '' && logprobs.length === 0) return
  const message = currentOf(forming, 'message') ?? begin(forming, 'message', {})
  const part = partOf(forming, message, kind)
  const isFirst = part.text === ''
  const told = noteLogprobs(part, logprobs)
  // Those of tokens without words are told with the first words of the part.
  if (isFirst && text === '') return
  forming.queue.say(message, part, text, told.length === 0 ? undefined : { logprobs: told })
}

/** The part that is being said, or a new one. */
const partOf = ({ queue }: Forming, item: ReceivedItem, kind: PartKind): OutputPart =>
  item.openPart?.kind === kind
    ? item.openPart
    : queue.openPart(item, kind, undefined, kind === 'output_text' ? { ...EMPTY_TEXT, logprobs: [] } : {})

const EMPTY_TEXT = { type: 'output_text', text: '', annotations: [] }

/** Gives those that go with the next words. */
function noteLogprobs({ fields, text }: OutputPart, logprobs: readonly TokenLogprob[]): readonly Fields[] {
  const fresh = logprobs.map(logprobFields)
  const all = fields.logprobs
  if (!Array.isArray(all)) return fresh
  for (const token of fresh) all.push(token)
  return text === '' ? [...all] : fresh
}

/** Clients want the bytes as a list, even where a provider tells none. */
const logprobFields = ({ token, logprob, bytes, top }: TokenLogprob): Fields => ({
  token,
  logprob,
  bytes: bytes ?? [],
  top_logprobs: top.map((other) => ({ token: other.token, logprob: other.logprob, bytes: other.bytes ?? [] })),
})

type Thought = Extract<TurnEvent, { readonly type: 'reasoning-delta' | 'summary-delta' }>

/** A reasoning has summaries or a text, never both: where a lane tells both, they are two. */
function think(forming: Forming, { type, text }: Thought): void {
  if (text === '') return
  const isSummary = type === 'summary-delta' || forming.rawReasoning === 'as-summary'
  const kind = isSummary ? 'summary_text' : 'reasoning_text'
  const current = currentOf(forming, 'reasoning')
  const goesOn = current !== undefined && (current.item.parts[0]?.kind ?? kind) === kind
  const reasoning = goesOn ? current : begin(forming, 'reasoning', {})
  if (forming.breaksPart || forming.lastThought !== type) forming.queue.closePart(reasoning)
  forming.breaksPart = false
  forming.lastThought = type
  forming.queue.say(reasoning, partOf(forming, reasoning, kind), text, undefined)
}

/** Of two seals each has a reasoning of its own: providers want them back one by one. */
function seal(forming: Forming, { opaque }: Extract<TurnEvent, { readonly type: 'reasoning-seal' }>): void {
  const current = currentOf(forming, 'reasoning')
  const reasoning = current?.item.opaque === undefined ? current : undefined
  const sealed = reasoning ?? begin(forming, 'reasoning', {})
  sealed.item.opaque = opaque
}

function beginCall(forming: Forming, event: CallStart): void {
  const { call, callId, name, namespace, tool } = event
  endCall(forming, call)
  const [kind, part] =
    tool === 'custom' ? (['custom_tool_call', 'input'] as const) : (['function_call', 'arguments'] as const)
  const item = begin(forming, kind, namespace === undefined ? { name } : { name, namespace }, callId)
  forming.queue.openPart(item, part, undefined, {})
  forming.calls.set(call, item)
}

function sayInCall(
  { calls, queue }: Forming,
  { call, text }: Extract<TurnEvent, { readonly type: 'tool-call-delta' }>,
): void {
  const item = calls.get(call)
  if (item?.openPart !== undefined && text !== '') queue.say(item, item.openPart, text, undefined)
}

function endCall(forming: Forming, call: number): void {
  const { calls, last, queue } = forming
  const item = calls.get(call)
  if (item === undefined) return
  calls.delete(call)
  if (item === last) forming.current = item
  else queue.end(item, 'completed')
}
