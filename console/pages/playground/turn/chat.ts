import type { PlaygroundTurn } from '../../../lib/api-client.ts'
import type { ServerEvent } from '../../../lib/read-server-events.ts'
import type { TurnTerms } from '../play-settings.ts'
import {
  type Answer,
  fieldsOf,
  listOf,
  type Message,
  type ModelMessage,
  readFailure,
  readUsage,
  type ToolCall,
  textOf,
} from './conversation.ts'

/** The body of `POST /v1/chat/completions`, without unset fields. */
export const chatRequest = (terms: TurnTerms, history: readonly Message[]): PlaygroundTurn['body'] => ({
  model: terms.model,
  stream: true,
  stream_options: { include_usage: true },
  ...(terms.effort !== undefined && { reasoning_effort: terms.effort }),
  ...(terms.maxTokens !== undefined && { max_completion_tokens: terms.maxTokens }),
  ...(terms.temperature !== undefined && { temperature: terms.temperature }),
  ...(terms.tools.length > 0 && { tools: terms.tools.map((tool) => ({ type: 'function', function: tool })) }),
  messages: [
    ...(terms.system === undefined ? [] : [{ role: 'system', content: terms.system }]),
    ...history.map(messageOf),
  ],
})

function messageOf(message: Message): object {
  switch (message.by) {
    case 'user':
      return {
        role: 'user',
        content:
          message.images === undefined
            ? message.text
            : [
                ...message.images.map((url) => ({ type: 'image_url', image_url: { url } })),
                ...(message.text === '' ? [] : [{ type: 'text', text: message.text }]),
              ],
      }
    case 'tool':
      return { role: 'tool', tool_call_id: message.call, content: message.text }
    case 'model':
      return assistantMessage(message)
  }
}

const assistantMessage = ({ text, reasoning, calls }: ModelMessage): object => ({
  role: 'assistant',
  content: text === '' && calls.length > 0 ? null : text,
  // Some servers need their reasoning back in tool loops. The gateway drops it for the others.
  ...(reasoning !== '' && { reasoning_content: reasoning }),
  ...(calls.length > 0 && {
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  }),
})

/** Applies one event of a Chat stream to the answer. */
export function readChatEvent(answer: Answer, { data }: ServerEvent): Answer {
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
    calls: listOf(delta.tool_calls).reduce(readCallDelta, answer.calls),
    finish: textOf(choice.finish_reason) || answer.finish,
  }
}

/** Calls stream in deltas by index. The first delta has id and name, the others more arguments. */
function readCallDelta(calls: readonly ToolCall[], given: unknown): readonly ToolCall[] {
  const piece = fieldsOf(given)
  const at = typeof piece.index === 'number' ? piece.index : calls.length
  const call = fieldsOf(piece.function)
  const before = calls[at] ?? { id: '', name: '', arguments: '' }
  const after: ToolCall = {
    id: textOf(piece.id) || before.id,
    name: before.name || textOf(call.name),
    arguments: before.arguments + textOf(call.arguments),
  }
  return at < calls.length ? calls.with(at, after) : [...calls, after]
}
