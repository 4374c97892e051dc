import { type Fields, isObject } from '../../src/lib/types.ts'
import { joinSentences, type ParsedRequest, type ParsedTool, type Step } from './polite-model.ts'
import { demand, demandKnown, demandList, demandText, demandToolName } from './strict-request.ts'

/** What a Messages provider takes. */
export interface AnthropicTaste {
  /** The signatures that it has put on its thinking, and with which of its models. */
  readonly signatures: ReadonlyMap<string, SignedThinking>
}

export interface SignedThinking {
  readonly model: string
  /** Nothing where it is redacted. */
  readonly thinking: string
  /** The shapes of all blocks of its answer: it goes back with all of them, as they stood. */
  readonly answer: readonly string[]
}

/** What of a block shows whether it is in its place; ids of calls are a gateway's own. */
export function shapeOf({ type, ...block }: Fields): string {
  if (type === 'tool_use') return `tool_use ${block.name} ${JSON.stringify(block.input)}`
  return [type, block.signature ?? block.data ?? ''].join(' ')
}

const KNOWN = new Set([
  'block_binding',
  ...['model', 'messages', 'max_tokens', 'system', 'stream', 'tools', 'tool_choice', 'thinking', 'output_config'],
  ...['temperature', 'top_p', 'top_k', 'stop_sequences', 'metadata'],
])

/** The documented rules about messages, each of which is a 400 at Anthropic. */
export function parseMessages(receivedRequest: Fields, { signatures }: AnthropicTaste): ParsedRequest {
  demandKnown(receivedRequest, KNOWN)
  demand(Number(receivedRequest.max_tokens) >= 1, 'max_tokens: Field required', 'max_tokens')
  checkThinking(receivedRequest)
  checkCaching(receivedRequest)
  checkSystem(receivedRequest.system)
  const messages = demandList(receivedRequest.messages, 'messages')
  demand(messages.length > 0, 'messages: at least one message is required', 'messages')
  checkLoop(messages, receivedRequest.thinking)
  demand(
    receivedRequest.tools !== undefined || !JSON.stringify(messages).includes('"type":"tool_'),
    'Requests which include `tool_use` or `tool_result` blocks must define tools',
    'tools',
  )
  return {
    steps: stepsOf(messages, { signatures, model: String(receivedRequest.model) }),
    tools: receivedRequest.tools === undefined ? [] : demandList(receivedRequest.tools, 'tools').map(toolOf),
    choice: choiceOf(receivedRequest),
    effort: effortOf(receivedRequest),
    schema: schemaOf(receivedRequest.output_config),
  }
}

function checkThinking({ thinking, max_tokens, tool_choice, temperature }: Fields): void {
  if (thinking === undefined) return
  demand(isObject(thinking), 'thinking: Invalid type', 'thinking')
  const known = ['adaptive', 'enabled', 'disabled', 'between_tools']
  demand(known.includes(String(thinking.type)), 'thinking.type: Invalid', 'thinking')
  if (thinking.type === 'disabled') return
  demand(
    temperature === undefined || temperature === 1,
    '`temperature` may only be 1 when thinking is on',
    'temperature',
  )
  if (thinking.type !== 'enabled') return
  const budget = Number(thinking.budget_tokens)
  demand(budget >= 1024, 'thinking.enabled.budget_tokens: should be at least 1024', 'thinking')
  demand(budget < Number(max_tokens), '`max_tokens` must be greater than `thinking.budget_tokens`', 'max_tokens')
  const isForced = isObject(tool_choice) && ['any', 'tool'].includes(String(tool_choice.type))
  demand(!isForced, 'Thinking may not be enabled when tool_choice forces tool use.', 'tool_choice')
}

/** Who is told to think goes on from calls that were thought about. */
function checkLoop(messages: readonly Fields[], thinking: unknown): void {
  if (!isObject(thinking) || thinking.type !== 'enabled') return
  const { content } = messages.findLast(({ role }) => role === 'assistant') ?? {}
  const blocks = Array.isArray(content) ? content : []
  if (!blocks.some(({ type }) => type === 'tool_use')) return
  const found = String(blocks[0]?.type)
  demand(
    found === 'thinking' || found === 'redacted_thinking',
    `Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
    'messages',
  )
}

/** At most four marks, and none on what cannot be kept. */
function checkCaching(receivedRequest: Fields): void {
  let marks = 0
  const look = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) look(each)
    if (!isObject(value)) return
    if (value.cache_control !== undefined) {
      marks++
      const isThought = value.type === 'thinking' || value.type === 'redacted_thinking'
      demand(!isThought, 'cache_control: Extra inputs are not permitted', 'messages')
      demand(
        value.type !== 'text' || value.text !== '',
        'cache_control cannot be set for empty text blocks',
        'messages',
      )
    }
    for (const inner of Object.values(value)) look(inner)
  }
  look([receivedRequest.system, receivedRequest.tools, receivedRequest.messages])
  demand(marks <= 4, `A maximum of 4 blocks with cache_control may be provided. Found ${marks}.`, 'messages')
}

function checkSystem(system: unknown): void {
  if (system === undefined || typeof system === 'string') return
  for (const block of demandList(system, 'system')) {
    demand(
      block.type === 'text' && demandText(block.text, 'system') !== '',
      'system: text blocks must be non-empty',
      'system',
    )
  }
}

function toolOf(tool: Fields): ParsedTool {
  const { input_schema: schema } = tool
  demand(isObject(schema) && schema.type === 'object', 'tools.0.custom.input_schema.type: Field required', 'tools')
  return { kind: 'function', name: demandToolName(tool.name, 'tools.name'), namespace: undefined, parameters: schema }
}

function choiceOf({ tool_choice: choice, tools }: Fields): ParsedRequest['choice'] {
  if (choice === undefined) return 'auto'
  demand(isObject(choice), 'tool_choice: Invalid type', 'tool_choice')
  demand(tools !== undefined, 'tool_choice may only be specified while providing tools.', 'tool_choice')
  if (choice.type === 'tool') return { name: demandText(choice.name, 'tool_choice.name') }
  if (choice.type === 'any') return 'required'
  demand(choice.type === 'auto' || choice.type === 'none', 'tool_choice.type: Invalid', 'tool_choice')
  return choice.type
}

function effortOf({ thinking, output_config: config }: Fields): string | undefined {
  if (isObject(thinking) && thinking.type === 'disabled') return 'none'
  if (isObject(config) && typeof config.effort === 'string') return config.effort
  return isObject(thinking) ? String(thinking.budget_tokens ?? thinking.type) : undefined
}

function schemaOf(config: unknown = {}): Fields | undefined {
  demand(isObject(config), 'output_config: Invalid type', 'output_config')
  if (config.format === undefined) return undefined
  demand(
    isObject(config.format) && config.format.type === 'json_schema',
    'output_config.format: Invalid',
    'output_config',
  )
  demand(isObject(config.format.schema), 'output_config.format.schema: Field required', 'output_config')
  checkClosed(config.format.schema)
  return config.format.schema
}

function checkClosed(schema: Fields): void {
  if (schema.type !== 'object') return
  demand(
    schema.additionalProperties === false,
    "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false",
    'output_config',
  )
  const { properties } = schema
  for (const inner of Object.values(isObject(properties) ? properties : {})) if (isObject(inner)) checkClosed(inner)
}

interface Reading extends AnthropicTaste {
  readonly model: string
}

/** Roles take turns, the user begins, every call has its result at the beginning of the next message. */
function stepsOf(messages: readonly Fields[], reading: Reading): Step[] {
  const steps: Step[] = []
  let open = new Map<string, string>()
  for (const [index, { role, content }] of messages.entries()) {
    const at = `messages.${index}`
    demand(role === (index % 2 === 0 ? 'user' : 'assistant'), `${at}: roles must alternate, beginning with user`, at)
    const blocks = blocksOf(content, at)
    if (role === 'user') {
      steps.push(...joinSentences(parsedOf(blocks, open, at)))
      open = new Map()
    } else {
      const isLast = index === messages.length - 1
      demand(!isLast, 'This model does not support assistant message prefill.', 'messages')
      steps.push(...outputOf(blocks, open, { ...reading, at }))
    }
  }
  return steps
}

function blocksOf(content: unknown, at: string): readonly Fields[] {
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : demandList(content, `${at}.content`)
  demand(blocks.length > 0, `${at}: messages must have non-empty content`, at)
  for (const { type, text } of blocks)
    if (type === 'text') demand(demandText(text, at).trim() !== '', `${at}: text content blocks must be non-empty`, at)
  return blocks
}

function parsedOf(blocks: readonly Fields[], open: ReadonlyMap<string, string>, at: string): Step[] {
  const answered = new Set<string>()
  const steps = blocks.map((block, index): Step => {
    if (block.type === 'text') return { from: 'user', text: String(block.text) }
    demand(block.type === 'tool_result', `${at}: Invalid block '${block.type}'`, at)
    const id = demandText(block.tool_use_id, at)
    const name = open.get(id)
    demand(name !== undefined, `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}`, at)
    demand(!answered.has(id), `${at}: each tool_use must have a single result`, at)
    demand(index === answered.size, `${at}: \`tool_result\` blocks must come first`, at)
    answered.add(id)
    return { from: 'result', name, text: resultOf(block.content) }
  })
  const missing = [...open.keys()].filter((id) => !answered.has(id))
  demand(missing.length === 0, `${at}: \`tool_use\` ids without \`tool_result\` blocks: ${missing.join(', ')}`, at)
  return steps
}

const resultOf = (content: unknown): string =>
  typeof content === 'string' || content === undefined
    ? (content ?? '')
    : demandList(content, 'tool_result')
        .map(({ text }) => text ?? '')
        .join('')

/** A turn that was thought about comes back with everything that was thought about it, each in its place. */
function checkPlaces(blocks: readonly Fields[], { signatures, at }: Reading & { readonly at: string }): void {
  const shapes = blocks.map(shapeOf).join('\n')
  for (const { signature, data } of blocks) {
    const signed = signatures.get(String(signature ?? data))
    demand(
      signed === undefined || shapes.includes(signed.answer.join('\n')),
      `${at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`,
      at,
    )
  }
}

function outputOf(
  blocks: readonly Fields[],
  open: Map<string, string>,
  reading: Reading & { readonly at: string },
): Step[] {
  const { at, signatures, model } = reading
  checkPlaces(blocks, reading)
  return blocks.flatMap((block): Step[] => {
    switch (block.type) {
      case 'text':
        return [{ from: 'assistant', text: String(block.text) }]
      case 'thinking': {
        const signed = signatures.get(demandText(block.signature, at))
        demand(signed !== undefined && signed.model === model, `${at}: Invalid \`signature\` in \`thinking\` block`, at)
        demand(signed.thinking === block.thinking, `${at}: \`thinking\` blocks cannot be modified`, at)
        return []
      }
      case 'redacted_thinking':
        demand(
          signatures.get(String(block.data))?.model === model,
          `${at}: Invalid \`data\` in \`redacted_thinking\` block`,
          at,
        )
        return []
      case 'tool_use': {
        const id = demandText(block.id, at)
        demand(/^[a-zA-Z0-9_-]+$/.test(id), `${at}: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`, at)
        demand(!open.has(id), `${at}: \`tool_use\` ids must be unique`, at)
        demand(isObject(block.input), `${at}: tool_use.input: Input should be a valid dictionary`, at)
        const name = demandToolName(block.name, at)
        open.set(id, name)
        return [{ from: 'call', name, text: JSON.stringify(block.input) }]
      }
      default:
        demand(false, `${at}: Invalid block '${block.type}'`, at)
        return []
    }
  })
}
