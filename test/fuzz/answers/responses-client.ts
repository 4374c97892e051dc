import { type Fields, isObject } from '../../../src/lib/types.ts'
import { checkResponsesStream, eventsOf } from '../../support/responses-grammar.ts'
import { withoutForeign } from '../streams/play-encoder.ts'
import { type Finish, fieldsOf, isJson, listOf, type OutputCall, textOf } from './answer.ts'
import { checkCalls } from './chat-client.ts'
import { type Delivered, insist } from './delivered.ts'
import { responsesCounts } from './parse-responses.ts'

// A client of Responses that takes nothing on trust.

/** The order of events, their indexes, ids and numbers, and that every end repeats its deltas, is judged by the grammar. */
export function readResponsesStream(text: string, model: string): Delivered {
  // Fields that are the provider's own pass as they came, and need not come again.
  const own = withoutForeign({ emitted: Buffer.from(text), end: 'finished', hasContent: true }).emitted.toString()
  const [broken] = checkResponsesStream(own)
  insist(broken === undefined, broken ?? '')
  const last = eventsOf(text).at(-1)
  const response = fieldsOf(last?.response)
  if (last?.type === 'response.failed') {
    const code = textOf(fieldsOf(response.error).code)
    insist(code !== '', 'a failure without a code')
    return { failed: code }
  }
  return answerOf(response, model)
}

export function readResponsesReply(text: string, model: string): Delivered {
  const reply: unknown = isJson(text) ? JSON.parse(text) : undefined
  insist(isObject(reply), 'it is no answer')
  return answerOf(reply, model)
}

const STATUSES = new Set<unknown>(['completed', 'incomplete'])

function answerOf(response: Fields, model: string): Delivered {
  const { object, status, output, usage, incomplete_details: details } = response
  insist(object === 'response' && response.model === model && STATUSES.has(status), 'it is no response')
  insist(Array.isArray(output) && isObject(usage), 'a response without output or usage')
  insist(usage.total_tokens === Number(usage.input_tokens) + Number(usage.output_tokens), 'the total is no sum')
  const items = output.map(fieldsOf)
  const ids = items.flatMap(({ id, call_id }) => [id, ...(call_id === undefined ? [] : [call_id])])
  insist(new Set(ids).size === ids.length && ids.every((id) => textOf(id) !== ''), 'the ids of its items')
  const calls = items.flatMap(callIn)
  const cut = fieldsOf(details).reason === 'content_filter' ? 'content-filter' : 'length'
  const finish: Finish = status === 'incomplete' ? cut : calls.length > 0 ? 'tool-calls' : 'stop'
  checkCalls(calls, finish)
  const parts = items.flatMap(({ content, summary }) => [...listOf(summary), ...listOf(content)]).map(fieldsOf)
  const joined = (...types: string[]): string =>
    parts.flatMap((part) => (types.includes(textOf(part.type)) ? [textOf(part.text ?? part.refusal)] : [])).join('')
  const choice = {
    ...{ text: joined('output_text'), refusal: joined('refusal') },
    ...{ reasoning: [joined('summary_text', 'reasoning_text')], calls, finish },
  }
  return { answer: { choices: [choice], counts: responsesCounts(usage) } }
}

function callIn({ type, name, arguments: args, input }: Fields): OutputCall[] {
  if (type !== 'function_call' && type !== 'custom_tool_call') return []
  const words = type === 'function_call' ? args : input
  insist(textOf(name) !== '' && typeof words === 'string', 'a call without a name or words')
  return [{ tool: type === 'function_call' ? 'function' : 'custom', name: textOf(name), words }]
}
