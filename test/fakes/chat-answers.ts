import { type Fields, isObject } from '../../src/lib/types.ts'
import type { ProviderAnswer } from './answers.ts'
import { chunk, errorBody, usageChunk } from './chat-frames.ts'
import { delivered } from './delivered.ts'
import type { Script } from './fault-upstream.ts'
import {
  type Counted,
  callId,
  outputName,
  type ParsedRequest,
  type ParsedTool,
  POLITE,
  reasoningTokens,
  type Saying,
  type Step,
} from './polite-model.ts'
import { demand, demandKnown, demandList, demandText, demandToolName, modeOf, strictly } from './strict-request.ts'

/** A provider that speaks Chat: functions alone, reasoning in words, and every rule about messages kept. */
export const chatAnswer = ({ wantsReasoningBack = false, modelState = POLITE } = {}): Script =>
  strictly(async (providerAnswer) => {
    const { thinking, ...receivedRequest } = providerAnswer.receivedRequest
    const parsedRequest = parseOutput(wantsReasoningBack ? receivedRequest : providerAnswer.receivedRequest)
    const thinks = !isObject(thinking) || thinking.type !== 'disabled'
    if (wantsReasoningBack && thinks) demandReasoning(providerAnswer.receivedRequest.messages as readonly Fields[])
    const saying = modelState.sayingOf(parsedRequest)
    const usage = usageOf(modelState.countsOf(providerAnswer.receivedRequest, parsedRequest, saying), saying)
    return providerAnswer.delivery === 'stream'
      ? stream(providerAnswer, saying, usage)
      : whole(providerAnswer, saying, usage)
  })

const KNOWN = new Set([
  ...['model', 'messages', 'stream', 'stream_options', 'max_tokens', 'tools', 'tool_choice', 'parallel_tool_calls'],
  ...['response_format', 'reasoning_effort', 'temperature', 'top_p', 'stop', 'seed', 'user', 'prompt_cache_key'],
])

function parseOutput(receivedRequest: Fields): ParsedRequest {
  demandKnown(receivedRequest, KNOWN)
  demand(
    Number.isInteger(receivedRequest.max_tokens),
    'max_tokens is missing: nobody holds money for this.',
    'max_tokens',
  )
  const tools = receivedRequest.tools === undefined ? [] : demandList(receivedRequest.tools, 'tools').map(toolOf)
  for (const name of ['tool_choice', 'parallel_tool_calls']) {
    demand(
      tools.length > 0 || !(name in receivedRequest),
      `'${name}' is only allowed when 'tools' are specified.`,
      name,
    )
  }
  return {
    steps: stepsOf(demandList(receivedRequest.messages, 'messages')),
    tools,
    choice: choiceOf(receivedRequest.tool_choice),
    effort: receivedRequest.reasoning_effort as string | undefined,
    schema: schemaOf(receivedRequest.response_format),
  }
}

function toolOf(tool: Fields, index: number): ParsedTool {
  const at = `tools[${index}]`
  demand(tool.type === 'function' && isObject(tool.function), `Invalid value: '${tool.type}'.`, `${at}.type`)
  const { name, parameters = {} } = tool.function
  demand(isObject(parameters), 'Invalid schema for a function.', `${at}.function.parameters`)
  return { kind: 'function', name: demandToolName(name, `${at}.function.name`), namespace: undefined, parameters }
}

function choiceOf(choice: unknown = 'auto'): ParsedRequest['choice'] {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  demand(isObject(choice) && isObject(choice.function), 'Invalid tool_choice.', 'tool_choice')
  return { name: demandText(choice.function.name, 'tool_choice.function.name') }
}

function schemaOf(format: unknown): Fields | undefined {
  if (format === undefined) return undefined
  demand(isObject(format), 'Invalid response_format.', 'response_format')
  if (format.type === 'text') return undefined
  demand(isObject(format.json_schema), 'Invalid response_format.', 'response_format')
  const { name, schema } = format.json_schema
  demandToolName(name, 'response_format.json_schema.name')
  demand(isObject(schema), 'Invalid schema.', 'response_format.json_schema.schema')
  return schema
}

/** As DeepSeek does in tool loops, unless it is told not to think: every call with what it was thought with, word for word. */
function demandReasoning(messages: readonly Fields[]): void {
  for (const { tool_calls: calls, reasoning_content: thought } of messages) {
    if (calls === undefined) continue
    demand(thought === 'Let me think.', 'The reasoning_content in the thinking mode must be passed back.', 'messages')
  }
}

const MESSAGE_FIELDS = new Set([
  ...['role', 'content', 'tool_calls', 'tool_call_id', 'name'],
  // What it has said itself may come back, with what its clients have made of it.
  ...['reasoning_content', 'refusal', 'parsed'],
])

/** Every call is answered at once and in whole, and nothing is answered that was not called. */
function stepsOf(messages: readonly Fields[]): Step[] {
  demand(messages.length > 0, 'There are no messages.', 'messages')
  const open = new Map<string, string>()
  const steps: Step[] = []
  for (const [index, message] of messages.entries()) {
    const at = `messages[${index}]`
    demandKnown(message, MESSAGE_FIELDS, `${at}.`)
    if (message.role === 'tool') {
      const id = demandText(message.tool_call_id, `${at}.tool_call_id`)
      const name = open.get(id)
      demand(name !== undefined, `'tool' must be a response to a preceding message with 'tool_calls': ${id}.`, at)
      open.delete(id)
      steps.push({ from: 'result', text: contentOf(message.content, at), name })
      continue
    }
    demandAnswered(open, at)
    if (message.role === 'assistant') {
      steps.push(...callsOf(message, open, at))
      continue
    }
    demand(message.role === 'user' || message.role === 'system', `Invalid role: '${message.role}'.`, `${at}.role`)
    const text = contentOf(message.content, at)
    if (message.role === 'user') steps.push({ from: 'user', text })
  }
  demandAnswered(open, 'messages')
  return steps
}

const demandAnswered = (open: ReadonlyMap<string, string>, at: string) =>
  demand(open.size === 0, `These tool_call_ids have no response: ${[...open.keys()].join(', ')}.`, at)

function callsOf({ content, tool_calls: given }: Fields, open: Map<string, string>, at: string): Step[] {
  const isSilent = content === undefined || content === null
  demand(given !== undefined || !isSilent, 'A message has content or tool_calls.', at)
  const calls = given === undefined ? [] : demandList(given, `${at}.tool_calls`)
  demand(given === undefined || calls.length > 0, 'tool_calls is empty.', `${at}.tool_calls`)
  demand(!Array.isArray(content) || content.length > 0, 'content is empty.', `${at}.content`)
  const emitted: Step[] = isSilent ? [] : [{ from: 'assistant', text: contentOf(content, at) }]
  return emitted.concat(
    calls.map((call) => {
      const id = demandText(call.id, `${at}.tool_calls.id`)
      demand(call.type === 'function' && isObject(call.function), 'Only functions can be called.', at)
      demand(!open.has(id), `Duplicate tool call id ${id}.`, at)
      const name = demandToolName(call.function.name, `${at}.tool_calls.function.name`)
      open.set(id, name)
      return { from: 'call', name, text: demandText(call.function.arguments, `${at}.tool_calls.function.arguments`) }
    }),
  )
}

function contentOf(content: unknown, at: string): string {
  if (typeof content === 'string') return content
  return demandList(content, `${at}.content`)
    .map((part) => {
      demand(part.type === 'text', `Invalid part: '${part.type}'.`, `${at}.content`)
      return demandText(part.text, `${at}.content`)
    })
    .join('')
}

function usageOf(counted: Counted, saying: Saying): object {
  const { input, cached, written = 0, output } = counted
  const details = {
    ...(cached === 0 ? {} : { cached_tokens: cached }),
    ...(written === 0 ? {} : { cache_write_tokens: written }),
  }
  return {
    prompt_tokens: input,
    ...(cached + written === 0 ? {} : { prompt_tokens_details: details }),
    completion_tokens: output,
    total_tokens: input + output,
    completion_tokens_details: { reasoning_tokens: reasoningTokens(counted, saying) },
  }
}

async function stream(providerAnswer: ProviderAnswer, saying: Saying, usage: object): Promise<void> {
  const emit = (delta: object, finish: string | null = null) =>
    providerAnswer.frames(chunk(providerAnswer.model, { delta, finish }))
  await providerAnswer.head()
  await emit({ role: 'assistant', content: '' })
  for (const thought of saying.thoughts) await emit({ reasoning_content: thought })
  for (const [index, word] of saying.words.entries()) {
    if (index === 2 && (await endsEarly(providerAnswer))) return
    await emit({ content: word })
  }
  for (const [index, call] of saying.calls.entries()) {
    const half = Math.ceil(call.text.length / 2)
    const named = { id: callId(call, index), type: 'function', function: { name: outputName(call), arguments: '' } }
    await emit({ tool_calls: [{ index, ...named }] })
    await emit({ tool_calls: [{ index, function: { arguments: call.text.slice(0, half) } }] })
    await emit({ tool_calls: [{ index, function: { arguments: call.text.slice(half) } }] })
  }
  await emit({}, saying.calls.length > 0 ? 'tool_calls' : 'stop')
  await providerAnswer.frames(usageChunk(providerAnswer.model, usage), '[DONE]')
  await providerAnswer.end()
}

async function endsEarly(providerAnswer: ProviderAnswer): Promise<boolean> {
  const mode = modeOf(providerAnswer)
  if (mode === 'whole') return false
  await delivered()
  if (mode === 'breaks') {
    await providerAnswer.frames(errorBody('The server is overloaded.'), '[DONE]')
    await providerAnswer.end()
  }
  if (mode === 'resets') providerAnswer.reset()
  return true
}

async function whole(providerAnswer: ProviderAnswer, { thoughts, words, calls }: Saying, usage: object): Promise<void> {
  const message = {
    role: 'assistant',
    content: calls.length > 0 ? null : words.join(''),
    ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('') } : {}),
    ...(calls.length > 0
      ? {
          tool_calls: calls.map((call, index) => ({
            id: callId(call, index),
            type: 'function',
            function: { name: outputName(call), arguments: call.text },
          })),
        }
      : {}),
  }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop'
  const head = { id: 'chatcmpl-fake', object: 'chat.completion', created: 1_700_000_000, model: providerAnswer.model }
  await providerAnswer.head()
  await providerAnswer.bytes(JSON.stringify({ ...head, choices: [{ index: 0, message, finish_reason }], usage }))
  await providerAnswer.end()
}
