import type { Fields } from '../../lib/is-object.ts'
import type { PromptCache } from '../../model/model-traits.ts'
import type { SettledMessage } from './settle-messages.ts'
import type { Block } from './write-parts.ts'

/** What of a request the server can be asked to keep. */
interface Prompt {
  readonly system: readonly Block[]
  readonly tools: readonly Fields[]
  readonly messages: readonly SettledMessage[]
}

/** A server keeps what stands in front of a mark; it takes four at most, and here there are never more. */
const KEPT = { cache_control: { type: 'ephemeral' } }

/**
 * The prompt with marks behind what is likely to come again: the tools, the system, and in a conversation what this request
 * adds, beside what the last one has added, where it is found again.
 */
export function markCache(prompt: Prompt, policy: PromptCache): Prompt {
  if (policy === 'off') return prompt
  const { system, tools, messages } = prompt
  const marked = { system: withLastMarked(system), tools: withLastMarked(tools), messages }
  return policy === 'system' ? marked : { ...marked, messages: withTurnsMarked(messages) }
}

const withLastMarked = <Piece extends Fields>(pieces: readonly Piece[]): readonly Piece[] =>
  pieces.map((piece, at) => (at === pieces.length - 1 ? { ...piece, ...KEPT } : piece))

const TURNS_MARKED = 2

function withTurnsMarked(messages: readonly SettledMessage[]): readonly SettledMessage[] {
  const places = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-TURNS_MARKED)
  return messages.map((message, at) =>
    places.includes(at) ? { ...message, content: withLastMarked(message.content) } : message,
  )
}
