import type { Conversation, ConversationItem } from '../../model/conversation.ts'
import type { Opaque, TurnEvent } from '../../model/event.ts'
import type { EventReader } from '../shared/codec-types.ts'

/** Sealed reasoning that led to a call. */
export interface SealBeforeCall {
  readonly opaque: Opaque
  /** There was text between the two. */
  readonly textBetween: boolean
}

/** Sealed reasoning by the calls that it led to, for a client whose protocol cannot carry it. */
export interface CallSeals {
  keep(callId: string, seals: readonly SealBeforeCall[]): void
  find(callId: string): readonly SealBeforeCall[]
  /** Before `find`: gets what other nodes have kept. Undefined where there are none. Never rejects. */
  readonly load?: (callIds: readonly string[]) => Promise<void>
}

/**
 * Keeps the sealed reasoning in front of tool calls under the ids that the client knows. The first of several calls at once gets
 * the seals: what stood in front of all of them stands in front of it.
 */
export function keepSeals(reader: EventReader, keep: CallSeals['keep']): EventReader {
  let waiting: SealBeforeCall[] = []
  const notice = (event: TurnEvent): void => {
    if (event.type === 'reasoning-seal') {
      waiting.push({ opaque: event.opaque, textBetween: false })
    } else if (event.type === 'text-delta' || event.type === 'refusal-delta') {
      // Those before earlier text have the mark already.
      for (let at = waiting.length - 1; waiting[at]?.textBetween === false; at--)
        waiting[at] = { opaque: waiting[at]!.opaque, textBetween: true }
    } else if (event.type === 'tool-call-start') {
      if (waiting.length > 0) keep(event.callId, waiting)
      waiting = []
    }
  }
  return {
    state: reader.state,
    // The text that it repeats was noticed.
    get repeatText() {
      return reader.repeatText
    },
    read(frame) {
      const events = reader.read(frame)
      for (const event of events) notice(event)
      return events
    },
  }
}

/** The conversation with the kept reasoning in front of the calls that it led to. */
export function restoreSeals(conversation: Conversation, find: CallSeals['find']): Conversation {
  const items: ConversationItem[] = []
  const seen = new Set<string>()
  for (const item of conversation.items) {
    if (item.type === 'tool-call' && !seen.has(item.callId)) {
      // A call that is sent twice is one, and no provider takes the same reasoning twice.
      seen.add(item.callId)
      putInFront(items, find(item.callId))
    }
    items.push(item)
  }
  return { ...conversation, items }
}

/** Puts seals in front of the call that comes next, or of the text before it, as they stood. */
function putInFront(items: ConversationItem[], seals: readonly SealBeforeCall[]): void {
  const last = items.at(-1)
  const hasText = last?.type === 'message' && last.role === 'assistant'
  const ahead = hasText ? seals.filter(({ textBetween }) => textBetween) : []
  items.splice(items.length - (hasText ? 1 : 0), 0, ...ahead.map(reasoningOf))
  items.push(...seals.filter((seal) => !ahead.includes(seal)).map(reasoningOf))
}

const reasoningOf = ({ opaque }: SealBeforeCall): ConversationItem => ({
  type: 'reasoning',
  summary: [],
  text: '',
  opaque,
})

interface OpeningLane {
  readonly origin: string
  readonly dialect:
    | { readonly wire: Exclude<Opaque['wire'], 'chat'> }
    | { readonly wire: 'chat'; readonly requiresReasoning: boolean }
}

/**
 * The sealed data that a lane gets back: only its own, because any other provider, and another model of the same one, refuses
 * it. The reasoning of a chat lane is not secret: every lane that wants reasoning back gets it. Undefined: nothing for this lane.
 */
export function opaqueForLane(opaque: Opaque | undefined, { origin, dialect }: OpeningLane): string | undefined {
  if (opaque === undefined || opaque.wire !== dialect.wire) return undefined
  const isForIt = dialect.wire === 'chat' ? dialect.requiresReasoning : opaque.origin === origin
  return isForIt ? opaque.data : undefined
}
