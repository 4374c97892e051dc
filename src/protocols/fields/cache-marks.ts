import { type Fields, isObject } from '../../lib/types.ts'
import type { CacheMark, ContentPart, Conversation } from '../../model/conversation.ts'

/** The cache mark of a part, a message or a tool: `cache_control` (Anthropic) or `prompt_cache_breakpoint` (OpenAI). */
export function markIn({ cache_control: control, prompt_cache_breakpoint: breakpoint }: Fields): {
  readonly cacheMark?: CacheMark
} {
  if (isObject(control)) return { cacheMark: { field: 'cache_control', hasOwnTtl: isOwnTtl(control.ttl) } }
  return isObject(breakpoint) ? { cacheMark: { field: 'prompt_cache_breakpoint', hasOwnTtl: false } } : {}
}

const isOwnTtl = (ttl: unknown): boolean => ttl !== undefined && ttl !== null && ttl !== '5m'

/** A mark on a message applies to its last part, unless that has its own. */
export function withMarkOf(message: Fields, parts: ContentPart[]): ContentPart[] {
  const { cacheMark } = markIn(message)
  const last = parts.at(-1)
  if (cacheMark === undefined || last === undefined || last.cacheMark !== undefined) return parts
  return [...parts.slice(0, -1), { ...last, cacheMark }]
}

/** By which names a client has marked anything in its conversation. */
export const namesOfMarks = (conversation: Conversation): string[] => [
  ...new Set(marksIn(conversation).map(({ field }) => field)),
]

/** What of marks that are kept is not: an hour costs more than the five minutes for which a price can name `cache_write`. */
export const namesOfLostTtls = (conversation: Conversation): string[] =>
  marksIn(conversation).some(({ hasOwnTtl }) => hasOwnTtl) ? ['cache_control.ttl'] : []

function marksIn({ items, tools }: Conversation): CacheMark[] {
  const places = [...tools, ...items.flatMap((item) => ('content' in item ? item.content : []))]
  return places.flatMap(({ cacheMark }) => cacheMark ?? [])
}
