import type { PlayedTurn } from '../../lib/ask.ts'
import type { ModelSaid, Said } from './conversation.ts'
import type { TurnTerms } from './play-settings.ts'

/** The body of `POST /v1/chat/completions`. What was left open is left out, so that the snippet has no noise. */
export const chatRequest = (terms: TurnTerms, said: readonly Said[]): PlayedTurn['body'] => ({
  model: terms.model,
  stream: true,
  stream_options: { include_usage: true },
  ...(terms.effort !== undefined && { reasoning_effort: terms.effort }),
  ...(terms.maxTokens !== undefined && { max_completion_tokens: terms.maxTokens }),
  ...(terms.temperature !== undefined && { temperature: terms.temperature }),
  ...(terms.tools.length > 0 && { tools: terms.tools.map((tool) => ({ type: 'function', function: tool })) }),
  messages: [
    ...(terms.system === undefined ? [] : [{ role: 'system', content: terms.system }]),
    ...said.map(messageOf),
  ],
})

function messageOf(said: Said): object {
  switch (said.by) {
    case 'user':
      return { role: 'user', content: said.text }
    case 'tool':
      return { role: 'tool', tool_call_id: said.call, content: said.text }
    case 'model':
      return assistantMessage(said)
  }
}

const assistantMessage = ({ text, reasoning, calls }: ModelSaid): object => ({
  role: 'assistant',
  content: text === '' && calls.length > 0 ? null : text,
  // Servers that think in tool loops want their thoughts back; for the others the gateway leaves them out.
  ...(reasoning !== '' && { reasoning_content: reasoning }),
  ...(calls.length > 0 && {
    tool_calls: calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    })),
  }),
})
