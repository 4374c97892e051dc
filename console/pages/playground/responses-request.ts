import type { PlayedTurn } from '../../lib/ask.ts'
import type { ModelSaid, Said } from './conversation.ts'
import type { TurnTerms } from './play-settings.ts'

/** The body of `POST /v1/responses`. Nothing is stored: the conversation is this page's, and sealed reasoning travels with it. */
export const responsesRequest = (terms: TurnTerms, said: readonly Said[]): PlayedTurn['body'] => ({
  model: terms.model,
  stream: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  ...(terms.effort !== undefined && { reasoning: { effort: terms.effort } }),
  ...(terms.maxTokens !== undefined && { max_output_tokens: terms.maxTokens }),
  ...(terms.temperature !== undefined && { temperature: terms.temperature }),
  ...(terms.tools.length > 0 && { tools: terms.tools.map((tool) => ({ type: 'function', ...tool })) }),
  ...(terms.system !== undefined && { instructions: terms.system }),
  input: said.flatMap(itemsOf),
})

function itemsOf(said: Said): readonly unknown[] {
  switch (said.by) {
    case 'user':
      return [{ role: 'user', content: said.text }]
    case 'tool':
      return [{ type: 'function_call_output', call_id: said.call, output: said.text }]
    case 'model':
      return said.items ?? plainItems(said)
  }
}

/** An answer that came over Chat, told as items. */
const plainItems = ({ text, calls }: ModelSaid): readonly unknown[] => [
  ...(text === '' ? [] : [{ role: 'assistant', content: text }]),
  ...calls.map((call) => ({ type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments })),
]
