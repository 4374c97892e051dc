import type { Conversation, ConversationItem } from '../model/conversation.ts'
import type { CallSeals, SealBeforeCall } from './notice-seals.ts'

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
