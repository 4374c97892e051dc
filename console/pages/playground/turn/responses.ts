import type { PlaygroundTurn } from '../../../lib/api-client.ts'
import type { ServerEvent } from '../../../lib/read-server-events.ts'
import type { TurnTerms } from '../play-settings.ts'
import {
  type Answer,
  type Fields,
  fieldsOf,
  listOf,
  type Message,
  type ModelMessage,
  readFailure,
  readUsage,
  type ToolCall,
  textOf,
} from './conversation.ts'

/** The body of `POST /v1/responses`. Nothing is stored: the page keeps the conversation and its encrypted reasoning. */
export const responsesRequest = (terms: TurnTerms, history: readonly Message[]): PlaygroundTurn['body'] => ({
  model: terms.model,
  stream: true,
  store: false,
  include: ['reasoning.encrypted_content'],
  ...(terms.effort !== undefined && { reasoning: { effort: terms.effort } }),
  ...(terms.maxTokens !== undefined && { max_output_tokens: terms.maxTokens }),
  ...(terms.temperature !== undefined && { temperature: terms.temperature }),
  ...(terms.tools.length > 0 && { tools: terms.tools.map((tool) => ({ type: 'function', ...tool })) }),
  ...(terms.system !== undefined && { instructions: terms.system }),
  input: history.flatMap(itemsOf),
})

function itemsOf(message: Message): readonly unknown[] {
  switch (message.by) {
    case 'user':
      return [
        {
          role: 'user',
          content:
            message.images === undefined
              ? message.text
              : [
                  ...message.images.map((url) => ({ type: 'input_image', image_url: url })),
                  ...(message.text === '' ? [] : [{ type: 'input_text', text: message.text }]),
                ],
        },
      ]
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.call, output: message.text }]
    case 'model':
      return message.items ?? plainItems(message)
  }
}

/** A Chat answer as Responses input items. */
const plainItems = ({ text, calls }: ModelMessage): readonly unknown[] => [
  ...(text === '' ? [] : [{ role: 'assistant', content: text }]),
  ...calls.map((call) => ({ type: 'function_call', call_id: call.id, name: call.name, arguments: call.arguments })),
]

/** Applies one event of a Responses stream to the answer. */
export function readResponsesEvent(answer: Answer, { data }: ServerEvent): Answer {
  if (data === '[DONE]') return answer
  const event = fieldsOf(JSON.parse(data))
  switch (event.type) {
    case 'response.output_text.delta':
    case 'response.refusal.delta':
      return { ...answer, text: answer.text + textOf(event.delta) }
    case 'response.reasoning_text.delta':
    case 'response.reasoning_summary_text.delta':
      return { ...answer, reasoning: answer.reasoning + textOf(event.delta) }
    case 'response.reasoning_summary_part.added':
      return answer.reasoning === '' ? answer : { ...answer, reasoning: `${answer.reasoning}\n\n` }
    case 'response.output_item.added':
    case 'response.output_item.done':
      return readItem(answer, fieldsOf(event.item))
    case 'response.function_call_arguments.delta':
      return readArgumentsDelta(answer, textOf(event.delta))
    case 'response.completed':
    case 'response.incomplete':
      return close(answer, fieldsOf(event.response))
    case 'response.failed':
      return { ...answer, failure: answer.failure ?? readFailure(fieldsOf(event.response).error) }
    case 'error':
      return { ...answer, failure: readFailure(fieldsOf(event.error).message === undefined ? event : event.error) }
    default:
      return answer
  }
}

/** A call appears when its item is added and is complete when its item is done. */
function readItem(answer: Answer, item: Fields): Answer {
  if (item.type !== 'function_call') return answer
  const call: ToolCall = { id: textOf(item.call_id), name: textOf(item.name), arguments: textOf(item.arguments) }
  const at = answer.calls.findIndex(({ id }) => id === call.id)
  return { ...answer, calls: at === -1 ? [...answer.calls, call] : answer.calls.with(at, call) }
}

function readArgumentsDelta(answer: Answer, delta: string): Answer {
  const last = answer.calls.at(-1)
  if (last === undefined) return answer
  return { ...answer, calls: answer.calls.with(-1, { ...last, arguments: last.arguments + delta }) }
}

function close(answer: Answer, response: Fields): Answer {
  const { reason } = fieldsOf(response.incomplete_details)
  return {
    ...answer,
    ended: true,
    items: listOf(response.output),
    usage: readUsage(response.usage, { side: 'input', other: 'output' }),
    finish: textOf(reason) || textOf(response.status),
  }
}
