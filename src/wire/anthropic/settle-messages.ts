import type { Fields } from '../../lib/is-object.ts'
import { USER_BEGINS, USER_GOES_ON } from '../made-up-words.ts'
import { type DraftMessage, isThinking } from './write-messages.ts'
import type { Block } from './write-parts.ts'

export interface SettledMessage {
  readonly role: DraftMessage['role']
  readonly content: readonly Block[]
}

interface Settling {
  /** Without what was thought, for a model that is not to think. */
  readonly keepsThinking: boolean
  /** A last message of the assistant may be the beginning of the answer. */
  readonly prefill: boolean
}

/** The messages as a server takes them: the user first, each role after the other, no empty ones, and the user last. */
export function settleMessages(
  drafts: readonly DraftMessage[],
  { keepsThinking, prefill }: Settling,
): SettledMessage[] {
  const messages = joinRoles(drafts, keepsThinking)
  if (messages.find(({ role }) => role !== 'system')?.role !== 'user') messages.unshift(userSays(USER_BEGINS))
  if (messages.at(-1)?.role !== 'assistant') return messages
  return prefill ? withoutTrailingSpace(messages) : [...messages, userSays(USER_GOES_ON)]
}

/** Each block is taken once, however many messages become one. */
function joinRoles(drafts: readonly DraftMessage[], keepsThinking: boolean): SettledMessage[] {
  const messages: { readonly role: DraftMessage['role']; readonly content: Block[] }[] = []
  for (const { role, content } of drafts) {
    const said = role === 'assistant' ? orderedBlocks(content, keepsThinking) : content
    if (said.length === 0) continue
    const last = messages.at(-1)
    if (last?.role !== role) messages.push({ role, content: [...said] })
    else for (const block of said) last.content.push(block)
  }
  return messages
}

const userSays = (text: string): SettledMessage => ({ role: 'user', content: [{ type: 'text', text }] })

/**
 * Calls stand last, behind each thinking anew, and nothing ends with thinking that has led to nothing: else the message is
 * refused.
 */
function orderedBlocks(blocks: readonly Block[], keepsThinking: boolean): Block[] {
  const kept = keepsThinking ? blocks : blocks.filter((block) => !isThinking(block))
  const whole = kept.slice(0, kept.findLastIndex((block) => !isThinking(block)) + 1)
  const ordered: Block[] = []
  let calls: Block[] = []
  for (const block of whole) {
    if (block.type === 'tool_use') {
      calls.push(block)
      continue
    }
    if (isThinking(block)) {
      for (const call of calls) ordered.push(call)
      calls = []
    }
    ordered.push(block)
  }
  return [...ordered, ...calls]
}

function withoutTrailingSpace(messages: readonly SettledMessage[]): SettledMessage[] {
  const last = messages.at(-1)
  const block: Fields | undefined = last?.content.at(-1)
  if (last === undefined || typeof block?.text !== 'string') return [...messages]
  const trimmed = { type: 'text', text: block.text.trimEnd() }
  return [...messages.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), trimmed] }]
}

/** Whether the last calls were made without thinking: those of another provider, or of a model that was not to think. */
export function hasCallsWithoutThinking(messages: readonly SettledMessage[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant')
  if (last === undefined || !last.content.some(({ type }) => type === 'tool_use')) return false
  const [first] = last.content
  return first === undefined || !isThinking(first)
}
