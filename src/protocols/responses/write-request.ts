import { assertNever, type Fields } from '../../lib/types.ts'
import {
  type CallItem,
  type ContentPart,
  type Conversation,
  type ConversationItem,
  isText,
  type MessageItem,
  partsText,
  type ToolChoice,
  type ToolDefinition,
  type ToolName,
} from '../../model/conversation.ts'
import { opaqueForLane } from '../seals/call-seals.ts'
import {
  hasBias,
  isNamed,
  type LaneTarget,
  requestedNames,
  saltFields,
  unlessZero,
  type WrittenRequest,
} from '../shared/lane-target.ts'
import { ABORTED, clientName } from '../shared/texts.ts'
import { customAsFunction } from '../tools/custom-tools.ts'
import { createToolNames, mapCallIds, pairResults, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import { effortName, includeFor, isEffortLost, type ResponsesDialect, takesLogprobs } from './dialects.ts'

/** Writes a conversation as a request to a lane of this protocol. No lane keeps state for us. */
export function writeRequest(conversation: Conversation, target: LaneTarget<ResponsesDialect>): WrittenRequest {
  const { dialect, client } = target
  const { sampling, identity, format, verbosity, reasoning, items, tools, toolChoice } = conversation
  const names = createToolNames(tools, {
    custom: dialect.nativeTools.includes('custom') ? 'native' : 'as-function',
    namespace: dialect.nativeTools.includes('namespace') ? 'native' : 'flat',
  })
  const toolWriter = new ToolWriter(dialect, names)
  const effort = effortName(target)
  const hasReasoning = effort !== undefined || reasoning.summary !== undefined
  const include = includeFor(dialect, { logprobs: sampling.topLogprobs !== undefined })
  // Fields without a value are not in the JSON.
  const all: Fields = {
    model: target.model,
    instructions: conversation.instructions,
    input: withMatchingCalls(items).flatMap((item) => writeItem(item, target, toolWriter)),
    max_output_tokens: target.outputCap,
    store: false,
    stream: target.delivery === 'stream' ? true : undefined,
    tools: tools.length === 0 ? undefined : toolWriter.writeTools(tools),
    tool_choice: tools.length === 0 ? undefined : toolChoice && toolWriter.writeChoice(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : conversation.parallelToolCalls,
    text:
      format === undefined && verbosity === undefined
        ? undefined
        : { format: format && writeFormat(format), verbosity },
    reasoning: hasReasoning ? { effort, summary: reasoning.summary } : undefined,
    include: include.length === 0 ? undefined : include,
    top_logprobs: sampling.topLogprobs,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    presence_penalty: unlessZero(sampling.presencePenalty),
    frequency_penalty: unlessZero(sampling.frequencyPenalty),
    user: identity.user,
    safety_identifier: identity.safetyIdentifier,
    prompt_cache_key: identity.promptCacheKey,
    ...saltFields(target),
  }
  const removed = dialect.withoutFields.filter((name) => all[name] !== undefined && !NEVER_REMOVED.has(name))
  const body = Object.fromEntries(Object.entries(all).filter(([name]) => !removed.includes(name)))
  const leftOut = [
    ...requestedNames([
      ['stop', sampling.stop.length > 0],
      ['seed', sampling.seed !== undefined],
      ['logit_bias', hasBias(sampling)],
      [clientName('messageName', 'chat'), items.some(isNamed)],
    ]),
    // `store` and `include` are ours, so the client does not lose them.
    ...removed.filter((name) => name !== 'store' && name !== 'include'),
    ...requestedNames([
      [clientName('effort', client), isEffortLost(target)],
      [clientName('logprobs', client), sampling.topLogprobs !== undefined && !takesLogprobs(dialect)],
    ]),
  ]
  return { body, leftOut, tools: names }
}

/** Without these it is no request, or one that the hold does not cover. */
const NEVER_REMOVED = new Set(['model', 'input', 'stream', 'max_output_tokens'])

/** Chat may leave the schema out, and this protocol may not. */
const writeFormat = (format: NonNullable<Conversation['format']>): Fields =>
  format.type === 'json_schema' ? { ...format, schema: format.schema ?? {} } : { type: format.type }

/**
 * Gives every call an id of its own, because some providers reuse ids, and exactly one result: anything else would be refused.
 * An aborted call gets a result that says so, behind all calls that were made at once.
 */
function withMatchingCalls(items: readonly ConversationItem[]): readonly ConversationItem[] {
  const { byCall, orphans } = pairResults(items)
  const results = new Set<ConversationItem>([...byCall.values(), ...orphans])
  const ids = mapCallIds()
  const lastIds = new Map<string, string>()
  const matching: ConversationItem[] = []
  let aborted: CallItem[] = []
  const addAborted = (): void => {
    const content = [{ type: 'text', text: ABORTED }] as const
    for (const { tool, callId } of aborted) matching.push({ type: 'tool-result', tool, callId, content })
    aborted = []
  }
  for (const item of items) {
    if (item.type === 'tool-call') {
      const call = { ...item, callId: ids.take(item.callId) }
      lastIds.set(item.callId, call.callId)
      matching.push(call)
      if (!byCall.has(item)) aborted.push(call)
      continue
    }
    addAborted()
    if (item.type !== 'tool-result') matching.push(item)
    else if (results.has(item)) matching.push({ ...item, callId: lastIds.get(item.callId) ?? item.callId })
  }
  addAborted()
  return matching
}

type ItemsLane = Pick<LaneTarget<ResponsesDialect>, 'dialect' | 'origin'>

function writeItem(item: ConversationItem, lane: ItemsLane, tools: ToolWriter): readonly Fields[] {
  switch (item.type) {
    case 'message':
      return writeMessage(item)
    case 'reasoning': {
      // Reasoning goes back only as a seal, to the provider that made it.
      const seal = opaqueForLane(item.opaque, lane)
      if (seal === undefined) return []
      const summary = item.summary.map((text) => ({ type: 'summary_text', text }))
      return [{ type: 'reasoning', summary, encrypted_content: seal }]
    }
    case 'tool-call': {
      const { text } = item
      const call = { call_id: item.callId, ...tools.nameOf(item) }
      if (item.tool === 'function') return [{ type: 'function_call', ...call, arguments: text }]
      return tools.isNative(item)
        ? [{ type: 'custom_tool_call', ...call, input: text }]
        : [{ type: 'function_call', ...call, arguments: JSON.stringify({ input: text }) }]
    }
    case 'tool-result': {
      const isCustom = item.tool === 'custom' && lane.dialect.nativeTools.includes('custom')
      const type = isCustom ? 'custom_tool_call_output' : 'function_call_output'
      // Every server accepts one string, so only content that is more than text is sent in parts.
      const { content } = item
      const output = content.every(isText)
        ? partsText(content, '')
        : content.map((part) => writePart(part, 'input_text'))
      return [{ type, call_id: item.callId, output }]
    }
    default:
      return assertNever(item)
  }
}

/** Servers refuse an assistant message without text, such as one that only went before calls. */
function writeMessage({ role, content, phase }: MessageItem): readonly Fields[] {
  const parts = content.map((part) => writePart(part, role === 'assistant' ? 'output_text' : 'input_text'))
  if (role !== 'assistant') return [{ type: 'message', role, content: parts }]
  const filled = parts.filter((part) => part.text !== '')
  return filled.length === 0 ? [] : [{ type: 'message', role, content: filled, phase }]
}

function writePart(part: ContentPart, text: 'input_text' | 'output_text'): Fields {
  switch (part.type) {
    case 'text':
      return text === 'output_text' ? { type: text, text: part.text, annotations: [] } : { type: text, text: part.text }
    case 'refusal':
      return text === 'output_text' ? { type: 'refusal', refusal: part.text } : { type: text, text: part.text }
    case 'image':
      return { type: 'input_image', image_url: part.url, detail: part.detail ?? 'auto' }
    case 'file':
      return { type: 'input_file', file_data: part.data, file_url: part.url, file_id: part.id, filename: part.name }
    case 'audio':
      return { type: 'input_audio', input_audio: { data: part.data, format: part.format } }
    default:
      return assertNever(part)
  }
}

/** Writes tools for one lane: a kind that the lane does not know becomes a function under a name of ours. */
class ToolWriter {
  readonly #nativeTools: ResponsesDialect['nativeTools']
  readonly #names: Pick<ToolNames, 'upstreamName'>

  constructor({ nativeTools }: ResponsesDialect, names: Pick<ToolNames, 'upstreamName'>) {
    this.#nativeTools = nativeTools
    this.#names = names
  }

  isNative({ tool, namespace }: ToolName): boolean {
    return (
      (tool === 'function' || this.#nativeTools.includes('custom')) &&
      (namespace === undefined || this.#nativeTools.includes('namespace'))
    )
  }

  /** A plain function goes by its upstream name too, because a flattened one may have taken its own. */
  nameOf(tool: ToolName): Fields {
    return this.isNative(tool) && (tool.namespace !== undefined || tool.tool === 'custom')
      ? { name: tool.name, namespace: tool.namespace }
      : { name: this.#names.upstreamName(tool) }
  }

  writeTools(tools: readonly ToolDefinition[]): readonly Fields[] {
    const written: Fields[] = []
    const namespaces = new Map<string, Fields[]>()
    for (const tool of tools) {
      const { namespace } = tool
      if (namespace === undefined || !this.isNative(toolNameOf(tool))) {
        written.push(this.#writeTool(tool))
        continue
      }
      const inside = namespaces.get(namespace) ?? []
      if (inside.length === 0) {
        written.push({ type: 'namespace', name: namespace, description: namespace, tools: inside })
        namespaces.set(namespace, inside)
      }
      const { namespace: _outside, ...definition } = this.#writeTool(tool)
      inside.push(definition)
    }
    return written
  }

  #writeTool(tool: ToolDefinition): Fields {
    const named = toolNameOf(tool)
    const name = this.nameOf(named)
    if (tool.type === 'function') {
      const { description, parameters = NO_PARAMETERS, strict = false } = tool
      // An absent `strict` would mean true, and not every schema can be strict.
      return { type: 'function', ...name, description, parameters, strict }
    }
    if (!this.isNative(named)) return { type: 'function', ...name, ...customAsFunction(tool), strict: false }
    const { description, grammar } = tool
    return { type: 'custom', ...name, description, format: grammar && { type: 'grammar', ...grammar } }
  }

  writeChoice(choice: ToolChoice): unknown {
    const typed = (tool: ToolName): Fields => ({
      type: tool.tool === 'custom' && this.isNative(tool) ? 'custom' : 'function',
      ...this.nameOf(tool),
    })
    switch (choice.type) {
      case 'tool':
        return typed(choice)
      case 'allowed':
        return { type: 'allowed_tools', mode: choice.mode, tools: choice.tools.map(typed) }
      default:
        return choice.type
    }
  }
}

const NO_PARAMETERS = { type: 'object', properties: {} }
