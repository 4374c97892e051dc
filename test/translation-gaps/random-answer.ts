import fc from 'fast-check'
import type { FinishReason, Phase, ToolKind, TurnEvent } from '../../src/model/event.ts'
import { JsonProgress } from '../../src/protocols/json/syntax.ts'

// Random answers, as events in an order that a reader could give them in.

type Step =
  | { readonly do: 'text' | 'token' | 'refusal' | 'reasoning' | 'summary'; readonly words: string }
  | { readonly do: 'message'; readonly phase: Phase | undefined }
  | { readonly do: 'reasoning-start' | 'summary-start' | 'seal' }
  | { readonly do: 'call'; readonly tool: ToolKind }
  | { readonly do: 'argue' | 'end-call'; readonly which: number; readonly words: string }

const words = fc.constantFrom(
  ...['', 'a', 'Hello ', 'ä漢', '🙂', '\ud83d', '"\\', '\n\ndata: [DONE]\n\n', '\u2028', '{"a":', '\r\n', '[DONE]'],
)
const saying = <Kind extends 'text' | 'token' | 'refusal' | 'reasoning' | 'summary'>(kind: Kind) =>
  fc.record({ do: fc.constant(kind), words })

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: saying('text') },
  { weight: 1, arbitrary: saying('token') },
  { weight: 1, arbitrary: saying('refusal') },
  { weight: 3, arbitrary: saying('reasoning') },
  { weight: 2, arbitrary: saying('summary') },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('message' as const),
      phase: fc.constantFrom(undefined, 'commentary', 'final_answer'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('reasoning-start', 'summary-start', 'seal') }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('call' as const), tool: fc.constantFrom('function', 'custom') }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('argue', 'argue', 'end-call'), which: fc.nat(5), words }) },
)

export interface RandomAnswer {
  /** Up to `turn-end`, the last of them. */
  readonly events: readonly TurnEvent[]
}

export const randomAnswer: fc.Arbitrary<RandomAnswer> = fc
  .record({
    steps: fc.array(step, { maxLength: 24, size: 'large' }),
    end: fc.constantFrom<FinishReason>('stop', 'stop', 'length', 'content-filter'),
  })
  .map(({ steps, end }) => ({ events: play(steps, end) }))

interface Play {
  readonly events: TurnEvent[]
  calls: number
  readonly open: Set<number>
  seals: number
}

function play(steps: readonly Step[], end: FinishReason): readonly TurnEvent[] {
  const played: Play = { events: [], calls: 0, open: new Set(), seals: 0 }
  for (const each of steps) take(played, each)
  for (const call of played.open) played.events.push({ type: 'tool-call-end', call })
  played.events.push({ type: 'turn-end', reason: end === 'stop' && played.calls > 0 ? 'tool-calls' : end })
  return played.events
}

function take(played: Play, each: Step): void {
  const { events } = played
  switch (each.do) {
    case 'text':
    case 'refusal':
    case 'reasoning':
    case 'summary':
      events.push({ type: `${each.do}-delta`, text: each.words })
      return
    case 'token': {
      if (each.words === '') return
      const token = { token: each.words, logprob: -1, bytes: [1, 2], top: [] }
      events.push({ type: 'text-delta', text: each.words, logprobs: [token] })
      return
    }
    case 'message':
      events.push({ type: 'message-start', phase: each.phase })
      return
    case 'reasoning-start':
      events.push({ type: each.do })
      return
    case 'summary-start':
      // A provider that begins a part of a summary sends its text next.
      events.push({ type: each.do }, { type: 'summary-delta', text: 'Then' })
      return
    case 'seal':
      events.push({
        type: 'reasoning-seal',
        opaque: { wire: 'responses', origin: 'lane', data: `seal-${played.seals++}` },
      })
      return
    case 'call':
      beginCall(played, each.tool)
      return
    default:
      goOnCalling(played, each)
  }
}

function beginCall(played: Play, tool: ToolKind): void {
  const call = played.calls++
  played.open.add(call)
  const name = { callId: `call_${call}`, name: `tool_${call}`, namespace: undefined }
  played.events.push({ type: 'tool-call-start', call, ...name, tool })
}

function goOnCalling({ events, open }: Play, { do: what, which, words: text }: Extract<Step, { which: number }>): void {
  const call = [...open][which % open.size]
  if (call === undefined) return
  if (what === 'argue') events.push({ type: 'tool-call-delta', call, text })
  else if (open.delete(call)) events.push({ type: 'tool-call-end', call })
}

/** What an answer says in all, whatever it is told by. */
export interface Said {
  readonly content: string
  readonly refusal: string
  readonly reasoning: string
  readonly calls: readonly SaidCall[]
  readonly tokens: readonly string[]
}

export interface SaidCall {
  readonly tool: ToolKind
  readonly name: string
  words: string
}

/** The words of an answer, kind by kind. */
export const saidBy = (events: Iterable<TurnEvent>): Said => gather(events, () => '')

const BREAK = '\n\n'

/**
 * The same as Chat can tell it: one message and one reasoning for all of them, with an empty line between. A seal has a
 * reasoning of its own where the one before is sealed or is none, behind a message that is open; what cannot be told of sealed
 * reasoning parts nothing.
 */
export function saidInChat(events: Iterable<TurnEvent>, sealed: 'told' | 'untold'): Said {
  let item = 0
  let open: string | undefined
  let isSealed = false
  const lastIn = new Map<string, number>()
  return gather(events, (event, slot) => {
    if (event.type.endsWith('-start')) open = undefined
    if (STARTS_ITEM.has(event.type)) isSealed = false
    if (event.type === 'reasoning-seal' && sealed === 'told' && open !== 'message') {
      if (isSealed || (!open?.startsWith('reasoning-') && !open?.startsWith('summary-'))) open = undefined
      isSealed = true
    }
    if (slot === undefined || !('text' in event) || (event.text === '' && !('logprobs' in event))) return ''
    const kind = slot === 'reasoning' ? event.type : 'message'
    if (kind !== open) item += 1
    if (kind !== open && open !== undefined) isSealed = false
    open = kind
    const isApart = (lastIn.get(slot) ?? item) !== item
    lastIn.set(slot, item)
    return isApart ? BREAK : ''
  })
}

const STARTS_ITEM = new Set<TurnEvent['type']>(['message-start', 'reasoning-start', 'tool-call-start'])

type Slot = 'content' | 'refusal' | 'reasoning'

const SLOTS: Partial<Record<TurnEvent['type'], Slot>> = {
  'text-delta': 'content',
  'refusal-delta': 'refusal',
  'reasoning-delta': 'reasoning',
  'summary-delta': 'reasoning',
}

function gather(events: Iterable<TurnEvent>, before: (event: TurnEvent, slot: Slot | undefined) => string): Said {
  const emitted = { content: '', refusal: '', reasoning: '' }
  const calls = new Map<number, SaidCall>()
  const tokens: string[] = []
  for (const event of events) {
    const slot = SLOTS[event.type]
    const first = before(event, slot)
    if (slot !== undefined && 'text' in event) emitted[slot] += first + event.text
    if (event.type === 'text-delta') tokens.push(...(event.logprobs ?? []).map(({ token }) => token))
    if (event.type === 'tool-call-start') calls.set(event.call, { tool: event.tool, name: event.name, words: '' })
    if (event.type === 'tool-call-delta') calls.get(event.call)!.words += event.text
  }
  return { ...emitted, calls: [...calls.values()], tokens }
}

/** Why an answer has ended, as Chat says it: one whose last arguments break off was cut, whatever else its lane says. */
export function finishInChat(events: readonly TurnEvent[]): TurnEvent | undefined {
  const finish = events.at(-1)
  if (finish?.type !== 'turn-end' || (finish.reason !== 'stop' && finish.reason !== 'tool-calls')) return finish
  const watches = new Map<number, JsonProgress | undefined>()
  for (const event of events) {
    if (event.type === 'tool-call-start')
      watches.set(event.call, event.tool === 'function' ? new JsonProgress() : undefined)
    if (event.type === 'tool-call-delta') watches.get(event.call)?.feed(event.text)
  }
  const states = [...watches.values()].map((watch) => watch?.state)
  const isTruncated = states.indexOf('incomplete') === states.length - 1 && states.length > 0
  return isTruncated && !states.includes('broken') ? { type: 'turn-end', reason: 'length' } : finish
}
