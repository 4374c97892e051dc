import type { ServerEvent } from '../../lib/read-server-events.ts'
import { type Answer, fieldsOf, listOf, readFailure, readUsage, textOf } from './answer.ts'
import type { ToolCall } from './conversation.ts'

/** What an answer is after one more event of a Chat stream. */
export function hearChat(answer: Answer, { data }: ServerEvent): Answer {
  if (data === '[DONE]') return { ...answer, ended: true }
  const chunk = fieldsOf(JSON.parse(data))
  if (chunk.error !== undefined && chunk.error !== null) return { ...answer, failure: readFailure(chunk.error) }
  const usage = readUsage(chunk.usage, { side: 'prompt', other: 'completion' }) ?? answer.usage
  const choice = fieldsOf(listOf(chunk.choices)[0])
  const delta = fieldsOf(choice.delta)
  return {
    ...answer,
    usage,
    text: answer.text + textOf(delta.content) + textOf(delta.refusal),
    reasoning: answer.reasoning + textOf(delta.reasoning_content),
    calls: listOf(delta.tool_calls).reduce(hearCall, answer.calls),
    finish: textOf(choice.finish_reason) || answer.finish,
  }
}

/** Calls come in pieces by their index: the first has id and name, the others more of the arguments. */
function hearCall(calls: readonly ToolCall[], given: unknown): readonly ToolCall[] {
  const piece = fieldsOf(given)
  const at = typeof piece.index === 'number' ? piece.index : calls.length
  const said = fieldsOf(piece.function)
  const before = calls[at] ?? { id: '', name: '', arguments: '' }
  const after: ToolCall = {
    id: textOf(piece.id) || before.id,
    name: before.name || textOf(said.name),
    arguments: before.arguments + textOf(said.arguments),
  }
  return at < calls.length ? calls.with(at, after) : [...calls, after]
}
