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
  // A conversation that the assistant starts gets the same first user message, whether the assistant's has content or not.
  const messages = joinRoles(userBegins(drafts) ? drafts : [BEGINS, ...drafts], keepsThinking)
  if (!userBegins(messages)) messages.unshift(BEGINS)
  if (messages.at(-1)?.role !== 'assistant') return messages
  return prefill ? withoutTrailingSpace(messages) : [...messages, { role: 'user', content: GOES_ON }]
}

const userBegins = (messages: readonly DraftMessage[]): boolean =>
  messages.find(({ role }) => role !== 'system')?.role === 'user'

const BEGINS: SettledMessage = { role: 'user', content: [{ type: 'text', text: USER_BEGINS }] }
const GOES_ON: readonly Block[] = [{ type: 'text', text: USER_GOES_ON }]

/**
 * Each block is taken once, however many messages become one. An empty user message after the assistant's becomes `Go on.`, in
 * this request and in all later ones.
 */
function joinRoles(drafts: readonly DraftMessage[], keepsThinking: boolean): SettledMessage[] {
  const messages: { readonly role: DraftMessage['role']; readonly content: Block[] }[] = []
  for (const { role, content } of drafts) {
    const last = messages.at(-1)
    const isSilence = role === 'user' && content.length === 0 && last?.role === 'assistant'
    const said = role === 'assistant' ? orderedBlocks(content, keepsThinking) : isSilence ? GOES_ON : content
    if (said.length === 0) continue
    if (last?.role !== role) messages.push({ role, content: [...said] })
    else for (const block of said) last.content.push(block)
  }
  return messages
}

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
  const trimmed = { ...last.content.at(-1)!, text: block.text.trimEnd() }
  return [...messages.slice(0, -1), { role: last.role, content: [...last.content.slice(0, -1), trimmed] }]
}

/**
 * Whether the tool loop that the model continues began without thinking: with another provider, or with thinking off. All calls
 * since the last user message are one turn, which has to begin with thinking and need not think again
 * (https://platform.claude.com/docs/en/build-with-claude/extended-thinking, toggling thinking modes).
 */
export function isLoopWithoutThinking(messages: readonly SettledMessage[]): boolean {
  if (messages.at(-1)?.content.some(isResult) !== true) return false
  const before = messages.slice(0, -1)
  const asked = before.findLastIndex(({ role, content }) => role === 'user' && !content.every(isResult))
  const [first] = before.slice(asked + 1).find(({ role }) => role === 'assistant')?.content ?? []
  return first === undefined || !isThinking(first)
}

const isResult = ({ type }: Block): boolean => type === 'tool_result'
