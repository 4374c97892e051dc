import { type Fields, isObject } from '../../src/lib/types.ts'
import { judgeMessages, type ParsedMessage } from './messages-order.ts'
import { judgeSettings } from './messages-settings.ts'
import { judgeChoice, judgeTools } from './messages-tools.ts'
import { demand, demandKnown, demandList, demandText, refusalBy } from './strict-request.ts'

/** What differs between servers and models that speak Anthropic Messages. */
export interface MessagesModes {
  /** Thinks as long as it finds right, or as many tokens as it is told. */
  readonly thinking: 'adaptive' | 'budget'
  readonly sampling: boolean
  readonly prefill: boolean
  readonly midSystem: boolean
}

const NEW_MODEL: MessagesModes = { thinking: 'adaptive', sampling: false, prefill: false, midSystem: false }

const KNOWN = new Set([
  ...['model', 'messages', 'max_tokens', 'system', 'temperature', 'top_p', 'top_k', 'stop_sequences', 'stream'],
  ...['thinking', 'output_config', 'tools', 'tool_choice', 'metadata', 'service_tier'],
])
const MARKS_MAX = 4

/** Why a strict server would not take the body of a Messages request; undefined: it is as it has to be. */
export const refusalOfMessagesRequest = (body: unknown, modes: Partial<MessagesModes> = {}): string | undefined =>
  refusalBy(() => judgeRequest(body, { ...NEW_MODEL, ...modes }))

function judgeRequest(body: unknown, modes: MessagesModes): void {
  demand(isObject(body), 'the body should be an object', 'body')
  demandKnown(body, KNOWN)
  demandText(body.model, 'model')
  const { max_tokens, stream } = body
  demand(typeof max_tokens === 'number' && Number.isInteger(max_tokens) && max_tokens > 0, 'at least 1', 'max_tokens')
  demand(stream === undefined || typeof stream === 'boolean', 'should be a boolean', 'stream')
  judgeSystem(body.system)
  const messages = judgeMessages(body.messages, modes)
  const tools = judgeTools(body.tools)
  judgeChoice(body.tool_choice, tools)
  const speaksOfTools = messages.some(({ blocks }) => blocks.some(({ type }) => String(type).startsWith('tool_')))
  demand(!speaksOfTools || tools.size > 0, 'requests which include `tool_use` blocks must define tools', 'tools')
  judgeSettings(body, modes)
  judgeThinkingInPlace(body, messages, modes)
  const marks = JSON.stringify(body).split('"cache_control":').length - 1
  demand(marks <= MARKS_MAX, `a maximum of ${MARKS_MAX} blocks with cache_control may be provided`, 'cache_control')
}

function judgeSystem(system: unknown): void {
  if (system === undefined || typeof system === 'string') return
  for (const block of demandList(system, 'system')) {
    demand(block.type === 'text' && demandText(block.text, 'system').trim() !== '', 'no text', 'system')
    demandKnown(block, new Set(['type', 'text', 'cache_control']), 'system.')
  }
}

/** What was thought before, and what is begun for the model, fit how it is to think now. */
function judgeThinkingInPlace(body: Fields, messages: readonly ParsedMessage[], modes: MessagesModes): void {
  const type = isObject(body.thinking) ? body.thinking.type : undefined
  const isOn = type === 'enabled' || type === 'adaptive' || type === 'between_tools'
  const last = messages.at(-1)
  if (last?.role === 'assistant') {
    demand(modes.prefill && !isOn, 'this model does not support assistant message prefill', 'messages')
    const text = last.blocks.at(-1)?.text
    demand(String(text) === String(text).trimEnd(), 'final assistant content cannot end with whitespace', 'messages')
  }
  const isResult = (block: Fields) => block.type === 'tool_result'
  if (type === 'enabled' && last?.blocks.some(isResult)) {
    const before = messages.slice(0, -1)
    const receivedRequest = before.findLastIndex(({ role, blocks }) => role === 'user' && !blocks.every(isResult))
    const begun = before.slice(receivedRequest + 1).find(({ role }) => role === 'assistant')?.blocks[0]?.type
    const isThought = begun === 'thinking' || begun === 'redacted_thinking'
    demand(isThought, 'the final assistant turn must start with a thinking block', 'messages')
  }
  const all = messages.flatMap(({ blocks }) => blocks.map((block) => block.type))
  demand(type !== 'disabled' || !all.includes('thinking'), 'thinking is disabled', 'messages')
}
