import type { Conversation, ConversationItem } from '../../model/conversation.ts'
import type { Opaque, TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../shared/codec-types.ts'

/** Sealed reasoning that has led to a call. */
export interface SealBeforeCall {
  readonly opaque: Opaque
  /** The model has said something between the two. */
  readonly wordsBetween: boolean
}

/** Sealed reasoning by the calls that it has led to, for a client that has no place for it. */
export interface CallSeals {
  keep(callId: string, seals: readonly SealBeforeCall[]): void
  /** Empty: nothing is known of that call. */
  find(callId: string): readonly SealBeforeCall[]
  /** Nothing is known of any call. */
  isEmpty(): boolean
}

/** Nothing is known of any call. */
export const NO_CALL_SEALS: CallSeals = { keep: () => {}, find: () => [], isEmpty: () => true }

/**
 * Notices what is sealed in front of tool calls, and has it kept under the ids that the client knows them by. Of calls that
 * were made at once the first has the seals: what stood in front of all of them stands in front of it.
 */
export function noticeSeals(reader: EventReader, keep: CallSeals['keep']): EventReader {
  let waiting: SealBeforeCall[] = []
  const notice = (event: TurnEvent): void => {
    if (event.type === 'reasoning-seal') {
      waiting.push({ opaque: event.opaque, wordsBetween: false })
    } else if (event.type === 'text-delta' || event.type === 'refusal-delta') {
      // Those before the last words have them already.
      if (waiting.at(-1)?.wordsBetween === false) waiting = waiting.map(withWordsBetween)
    } else if (event.type === 'tool-call-start') {
      if (waiting.length > 0) keep(event.callId, waiting)
      waiting = []
    }
  }
  return {
    state: reader.state,
    read(frame) {
      const events = reader.read(frame)
      for (const event of events) notice(event)
      return events
    },
  }
}

const withWordsBetween = ({ opaque }: SealBeforeCall): SealBeforeCall => ({ opaque, wordsBetween: true })

/** The conversation of a client that has no place for sealed reasoning, with what led to its calls in front of them. */
export function restoreSeals(conversation: Conversation, find: CallSeals['find']): Conversation {
  const items: ConversationItem[] = []
  const seen = new Set<string>()
  for (const item of conversation.items) {
    if (item.type === 'tool-call' && !seen.has(item.callId)) {
      // A call that is sent twice is one, and nobody takes the same reasoning twice.
      seen.add(item.callId)
      putInFront(items, find(item.callId))
    }
    items.push(item)
  }
  return { ...conversation, items }
}

/** In front of the call that comes next, and of what the model has said before it, as they stood. */
function putInFront(items: ConversationItem[], seals: readonly SealBeforeCall[]): void {
  const last = items.at(-1)
  const hasSpoken = last?.type === 'message' && last.role === 'assistant'
  const ahead = hasSpoken ? seals.filter(({ wordsBetween }) => wordsBetween) : []
  items.splice(items.length - (hasSpoken ? 1 : 0), 0, ...ahead.map(reasoningOf))
  items.push(...seals.filter((seal) => !ahead.includes(seal)).map(reasoningOf))
}

const reasoningOf = ({ opaque }: SealBeforeCall): ConversationItem => ({
  type: 'reasoning',
  summary: [],
  text: '',
  opaque,
})

/** A lane, as far as it tells whose seals it can open. */
interface OpeningLane {
  readonly origin: string
  readonly dialect:
    | { readonly wire: Exclude<Opaque['wire'], 'chat'> }
    | { readonly wire: 'chat'; readonly reasoningBack: boolean }
}

/**
 * What a lane is given back of what was sealed: only what it has sealed itself, because any other provider, and another
 * model of the same one, refuses it. The words of a chat lane are no secret of that lane: every one that wants its
 * reasoning back may have them. Undefined: nothing of it is for this lane.
 */
export function opaqueForLane(opaque: Opaque | undefined, { origin, dialect }: OpeningLane): string | undefined {
  if (opaque === undefined || opaque.wire !== dialect.wire) return undefined
  const isForIt = dialect.wire === 'chat' ? dialect.reasoningBack : opaque.origin === origin
  return isForIt ? opaque.data : undefined
}
