import type { Fields } from '../../src/lib/types.ts'
import { judgeBlocks } from './messages-blocks.ts'
import { demand, demandKnown, demandList } from './strict-request.ts'

export interface ParsedMessage {
  readonly role: string
  readonly blocks: readonly Fields[]
}

/** The messages, each as it has to be, in an order in which they may come. */
export function judgeMessages(messages: unknown, { midSystem }: { readonly midSystem: boolean }): ParsedMessage[] {
  const list = demandList(messages, 'messages')
  demand(list.length > 0, 'at least one message is required', 'messages')
  const parsedOutput = list.map((message, at) => {
    const where = `messages.${at}`
    demandKnown(message, new Set(['role', 'content']), where)
    const roles = ['user', 'assistant', ...(midSystem ? ['system'] : [])]
    const role = roles.find((each) => each === message.role)
    demand(role !== undefined, `unexpected role '${message.role}'`, where)
    return { role, blocks: judgeBlocks(message.content, role, where) }
  })
  const outputText = parsedOutput.filter(({ role }) => role !== 'system')
  demand(outputText[0]?.role === 'user', 'first message must use the user role', 'messages.0')
  for (const [at, { role }] of parsedOutput.entries()) {
    demand(role !== parsedOutput[at - 1]?.role, 'roles must alternate', `messages.${at}`)
  }
  judgeCalls(parsedOutput)
  for (const [at, message] of parsedOutput.entries())
    if (message.role === 'assistant') judgeTurn(message, `messages.${at}`)
  return parsedOutput
}

const isThinking = ({ type }: Fields): boolean => type === 'thinking' || type === 'redacted_thinking'

/** Thinking leads to something, and calls come last behind it. */
function judgeTurn({ blocks }: ParsedMessage, where: string): void {
  demand(!isThinking(blocks.at(-1) ?? {}), 'the final block in an assistant message cannot be thinking', where)
  for (const [at, block] of blocks.entries()) {
    const isBehindCall = blocks[at - 1]?.type === 'tool_use'
    demand(!(isBehindCall && block.type === 'text'), 'text may not follow tool_use', where)
  }
}

/** Every call has its result in the next message, before all else, in the order of the calls; no result is without a call. */
function judgeCalls(parsedOutput: readonly ParsedMessage[]): void {
  const ids = new Set<unknown>()
  for (const [at, { role, blocks }] of parsedOutput.entries()) {
    const where = `messages.${at}`
    const calls = blocks.filter(({ type }) => type === 'tool_use').map(({ id }) => id)
    for (const id of calls) {
      demand(!ids.has(id), '`tool_use` ids must be unique', where)
      ids.add(id)
    }
    const next = role === 'assistant' ? (parsedOutput[at + 1]?.blocks ?? []) : []
    const results = next.slice(0, calls.length).map(({ tool_use_id }) => tool_use_id)
    demand(
      calls.every((id, position) => results[position] === id),
      '`tool_use` ids were found without `tool_result` blocks immediately after',
      where,
    )
    if (role !== 'user') continue
    const receivedRequest = (parsedOutput[at - 1]?.blocks ?? []).filter(({ type }) => type === 'tool_use').length
    const behind = blocks.slice(receivedRequest).filter(({ type }) => type === 'tool_result')
    demand(behind.length === 0, 'unexpected `tool_use_id` found in `tool_result` blocks', where)
  }
}
