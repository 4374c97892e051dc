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

/** The server caches the prompt up to a mark; it accepts four at most. */
const KEPT = { cache_control: { type: 'ephemeral' } }
const MARKS_MAX = 4

/** Whether what the client has marked stays so: too many are taken from the front, because the last ones keep the most. */
export const keepsAllMarks = (prompt: Prompt, policy: PromptCache): boolean =>
  policy !== 'off' && markedIn(prompt).length <= MARKS_MAX

/**
 * The prompt with cache marks after what is likely to come again. The client's own marks win; otherwise they go after the tools,
 * after the system, and in a conversation after what this request adds and what the last one added, where the cache is found.
 */
export function markCache(prompt: Prompt, policy: PromptCache): Prompt {
  const { system, tools, messages } = prompt
  const marked = markedIn(prompt)
  if (marked.length > 0) return withoutMarks(prompt, policy === 'off' ? marked : marked.slice(0, -MARKS_MAX))
  if (policy === 'off' || policy === 'client') return prompt
  const begun = { system: withLastMarked(system), tools: withLastMarked(tools), messages }
  return policy === 'system' ? begun : { ...begun, messages: withTurnsMarked(messages) }
}

const markedIn = ({ tools, system, messages }: Prompt): Fields[] =>
  [...tools, ...system, ...messages.flatMap(({ content }) => content)].filter(
    ({ cache_control: mark }) => mark !== undefined,
  )

function withoutMarks(prompt: Prompt, pieces: readonly Fields[]): Prompt {
  if (pieces.length === 0) return prompt
  const dropped = new Set(pieces)
  const strip = <Piece extends Fields>(all: readonly Piece[]): Piece[] =>
    all.map((piece) => (dropped.has(piece) ? { ...piece, cache_control: undefined } : piece))
  return {
    system: strip(prompt.system),
    tools: strip(prompt.tools),
    messages: prompt.messages.map((message) => ({ ...message, content: strip(message.content) })),
  }
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
