import { assertNever } from '../../lib/types.ts'
import type { CallItem, Reply, ReplyPart } from '../../model/conversation.ts'
import type { CallStart, FinishReason, Opaque, Phase, TokenLogprob, TurnEvent } from '../../model/event.ts'

/** Puts the events of an answer together. */
export function createReplyCollector() {
  const state: Collected = { items: [], calls: new Map(), open: undefined, finish: undefined }
  return {
    add: (event: TurnEvent): void => collect(state, event),
    reply: (): Reply => ({ items: state.items, finish: state.finish }),
  }
}

interface Message {
  readonly type: 'message'
  readonly phase: Phase | undefined
  readonly content: (
    | { readonly type: 'text'; text: string; readonly logprobs: TokenLogprob[] }
    | { readonly type: 'refusal'; text: string }
  )[]
}
interface Reasoning {
  readonly type: 'reasoning'
  readonly summary: string[]
  text: string
  opaque: Opaque | undefined
}
type Call = CallItem & { text: string }

interface Collected {
  readonly items: (Message | Reasoning | Call)[]
  readonly calls: Map<number, { text: string }>
  /** The item that further text or reasoning belongs to. */
  open: Message | Reasoning | undefined
  finish: FinishReason | undefined
}

function collect(state: Collected, event: TurnEvent): void {
  // An empty delta begins nothing and separates nothing, as in a stream.
  const isEmpty = 'text' in event && event.text === '' && (event.type !== 'text-delta' || !event.logprobs?.length)
  if (isEmpty) return
  switch (event.type) {
    case 'message-start':
      beginMessage(state, event.phase)
      return
    case 'text-delta': {
      const part = partOf(state, 'text')
      part.text += event.text
      if (part.type === 'text') for (const token of event.logprobs ?? []) part.logprobs.push(token)
      return
    }
    case 'refusal-delta':
      partOf(state, 'refusal').text += event.text
      return
    case 'reasoning-start':
      beginReasoning(state)
      return
    case 'reasoning-delta':
      reasoningOf(state).text += event.text
      return
    case 'summary-start':
      reasoningOf(state).summary.push('')
      return
    case 'summary-delta': {
      const { summary } = reasoningOf(state)
      summary.push((summary.pop() ?? '') + event.text)
      return
    }
    case 'reasoning-seal': {
      // It may stand in the middle of a message, which goes on.
      if (state.open?.type === 'message') {
        state.items.push({ type: 'reasoning', summary: [], text: '', opaque: event.opaque })
        return
      }
      // Each of two seals has a reasoning of its own.
      const open = reasoningOf(state)
      const reasoning = open.opaque === undefined ? open : beginReasoning(state)
      reasoning.opaque = event.opaque
      return
    }
    case 'tool-call-start':
      beginCall(state, event)
      return
    case 'tool-call-delta': {
      const call = state.calls.get(event.call)
      if (call) call.text += event.text
      return
    }
    case 'turn-end':
      state.finish = event.reason
      return
    case 'tool-call-end':
    case 'usage':
      return
    default:
      assertNever(event)
  }
}

function beginMessage(state: Collected, phase: Phase | undefined): Message {
  const message: Message = { type: 'message', phase, content: [] }
  state.items.push(message)
  state.open = message
  return message
}

function beginReasoning(state: Collected): Reasoning {
  const reasoning: Reasoning = { type: 'reasoning', summary: [], text: '', opaque: undefined }
  state.items.push(reasoning)
  state.open = reasoning
  return reasoning
}

const reasoningOf = (state: Collected): Reasoning =>
  state.open?.type === 'reasoning' ? state.open : beginReasoning(state)

function partOf(state: Collected, type: ReplyPart['type']): Message['content'][number] {
  const { content } = state.open?.type === 'message' ? state.open : beginMessage(state, undefined)
  const last = content.at(-1)
  if (last?.type === type) return last
  const part: Message['content'][number] =
    type === 'text' ? { type, text: '', logprobs: [] } : { type: 'refusal', text: '' }
  content.push(part)
  return part
}

function beginCall(state: Collected, event: CallStart): void {
  const { tool, callId, name, namespace } = event
  const call: Call = { type: 'tool-call', tool, callId, name, namespace, text: '' }
  state.items.push(call)
  state.calls.set(event.call, call)
  state.open = undefined
}
