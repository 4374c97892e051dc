import { assertNever, type Fields } from '../../lib/types.ts'
import {
  type AnswerFormat,
  type CallItem,
  type ContentPart,
  type Conversation,
  type ConversationItem,
  isText,
  type MessageItem,
  partsText,
  type ReasoningItem,
  type ResultItem,
  type ToolChoice,
  type ToolDefinition,
  type ToolName,
} from '../../model/conversation.ts'
import { type Effort, spellEffort } from '../../model/effort.ts'
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
import { includeFor, type ResponsesDialect, takesLogprobs } from './dialects.ts'

/** A conversation as the request that a lane of this protocol gets. No lane keeps state for us. */
export function writeRequest(conversation: Conversation, target: LaneTarget<ResponsesDialect>): WrittenRequest {
  const { dialect } = target
  const names = createToolNames(conversation.tools, {
    custom: dialect.nativeTools.includes('custom') ? 'native' : 'as-function',
    namespace: dialect.nativeTools.includes('namespace') ? 'native' : 'flat',
  })
  const tools = toolWriterFor(dialect, names)
  const asked: Fields = {
    model: target.model,
    instructions: conversation.instructions,
    input: writeItems(conversation.items, target, tools),
    max_output_tokens: target.outputCap,
    store: false,
    stream: target.delivery === 'stream' ? true : undefined,
    ...writeToolFields(conversation, tools),
    text: writeText(conversation),
    reasoning: writeReasoningSettings(conversation, target),
    ...writeSettings(conversation, dialect),
    ...saltFields(target),
  }
  const { fields, refused } = inDialect(asked, dialect)
  const leftOut = [...withoutCounterpart(conversation), ...refused, ...beyondDialect(conversation, target)]
  return { body: fields, leftOut, tools: names }
}

/** None of them without tools. */
function writeToolFields({ tools, toolChoice, parallelToolCalls }: Conversation, writer: ToolWriter): Fields {
  if (tools.length === 0) return {}
  return {
    tools: writeTools(tools, writer),
    tool_choice: toolChoice && writeToolChoice(toolChoice, writer),
    parallel_tool_calls: parallelToolCalls,
  }
}

/** Fields without a value are not in the JSON. */
function writeSettings({ sampling, identity }: Conversation, dialect: ResponsesDialect): Fields {
  const include = includeFor(dialect, { logprobs: sampling.topLogprobs !== undefined })
  return {
    include: include.length === 0 ? undefined : include,
    top_logprobs: sampling.topLogprobs,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    presence_penalty: unlessZero(sampling.presencePenalty),
    frequency_penalty: unlessZero(sampling.frequencyPenalty),
    user: identity.user,
    safety_identifier: identity.safetyIdentifier,
    prompt_cache_key: identity.promptCacheKey,
  }
}

/** What the server refuses goes; `store` and `include` are ours, and nobody misses them. */
function inDialect(asked: Fields, { withoutFields }: ResponsesDialect): { fields: Fields; refused: readonly string[] } {
  const gone = withoutFields.filter((name) => asked[name] !== undefined && !NEVER_LEFT_OUT.has(name))
  const fields = Object.fromEntries(Object.entries(asked).filter(([name]) => !gone.includes(name)))
  return { fields, refused: gone.filter((name) => name !== 'store' && name !== 'include') }
}

/** Without these it is no request, or one that the hold does not cover. */
const NEVER_LEFT_OUT = new Set(['model', 'input', 'stream', 'max_output_tokens'])

/** Parts of a field, which are named by themselves. */
const beyondDialect = ({ sampling }: Conversation, target: LaneTarget<ResponsesDialect>): readonly string[] =>
  requestedNames([
    [clientName('effort', target.client), isEffortLost(target)],
    [clientName('logprobs', target.client), sampling.topLogprobs !== undefined && !takesLogprobs(target.dialect)],
  ])

const withoutCounterpart = ({ sampling, items }: Conversation): readonly string[] =>
  requestedNames([
    ['stop', sampling.stop.length > 0],
    ['seed', sampling.seed !== undefined],
    ['logit_bias', hasBias(sampling)],
    [clientName('messageName', 'chat'), items.some(isNamed)],
  ])

function writeText({ format, verbosity }: Conversation): Fields | undefined {
  if (format === undefined && verbosity === undefined) return undefined
  return { format: format && writeFormat(format), verbosity }
}

function writeFormat(format: AnswerFormat): Fields {
  if (format.type !== 'json_schema') return { type: format.type }
  // Chat may leave it out, and this protocol may not.
  return { ...format, schema: format.schema ?? {} }
}

/** The items of a conversation as a lane's input. Members without a value are not in the JSON. */
function writeItems(items: readonly ConversationItem[], lane: ItemsLane, tools: ToolWriter): readonly Fields[] {
  return withFittingCalls(items).flatMap((item) => writeItem(item, lane, tools))
}

/**
 * No two calls have the same id, as those of some providers have that were asked before, and each has one result: anything
 * else would be refused. A call that was given up gets a result that says so, behind all calls that were made at once.
 */
function withFittingCalls(items: readonly ConversationItem[]): readonly ConversationItem[] {
  const { byCall, orphans } = pairResults(items)
  const results = new Set<ConversationItem>([...byCall.values(), ...orphans])
  const ids = mapCallIds()
  const last = new Map<string, string>()
  const fitting: ConversationItem[] = []
  let givenUp: ResultItem[] = []
  for (const item of items) {
    if (item.type === 'tool-call') {
      const callId = ids.take(item.callId)
      last.set(item.callId, callId)
      fitting.push({ ...item, callId })
      if (!byCall.has(item)) givenUp.push(resultOfGivenUp(item, callId))
      continue
    }
    for (const result of givenUp) fitting.push(result)
    givenUp = []
    if (item.type !== 'tool-result') fitting.push(item)
    else if (results.has(item)) fitting.push({ ...item, callId: last.get(item.callId) ?? item.callId })
  }
  return [...fitting, ...givenUp]
}

const resultOfGivenUp = ({ tool }: CallItem, callId: string): ResultItem => ({
  type: 'tool-result',
  tool,
  callId,
  content: [{ type: 'text', text: ABORTED }],
})

type ItemsLane = Pick<LaneTarget<ResponsesDialect>, 'dialect' | 'origin'>

function writeItem(item: ConversationItem, lane: ItemsLane, tools: ToolWriter): readonly Fields[] {
  switch (item.type) {
    case 'message':
      return writeMessage(item)
    case 'reasoning':
      return writeReasoning(item, lane)
    case 'tool-call': {
      const name = tools.nameOf(item)
      if (item.tool === 'function') {
        return [{ type: 'function_call', call_id: item.callId, ...name, arguments: item.text }]
      }
      return tools.isNative(item)
        ? [{ type: 'custom_tool_call', call_id: item.callId, ...name, input: item.text }]
        : [{ type: 'function_call', call_id: item.callId, ...name, arguments: JSON.stringify({ input: item.text }) }]
    }
    case 'tool-result': {
      const isCustom = item.tool === 'custom' && lane.dialect.nativeTools.includes('custom')
      const type = isCustom ? 'custom_tool_call_output' : 'function_call_output'
      return [{ type, call_id: item.callId, output: writeOutput(item.content) }]
    }
    default:
      return assertNever(item)
  }
}

/** A message that says nothing is refused; one that only went before calls has nothing to say. */
function writeMessage({ role, content, phase }: MessageItem): readonly Fields[] {
  const parts = content.map((part) => writePart(part, role === 'assistant' ? 'output_text' : 'input_text'))
  if (role !== 'assistant') return [{ type: 'message', role, content: parts }]
  const said = parts.filter((part) => part.text !== '')
  return said.length === 0 ? [] : [{ type: 'message', role, content: said, phase }]
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

/** Text is one string, which every server takes; only what is more than text comes in parts. */
function writeOutput(content: readonly ContentPart[]): unknown {
  return content.every(isText) ? partsText(content, '') : content.map((part) => writePart(part, 'input_text'))
}

/** Reasoning goes back sealed, to who has sealed it; never in words. */
function writeReasoning({ opaque, summary }: ReasoningItem, lane: ItemsLane): readonly Fields[] {
  const seal = opaqueForLane(opaque, lane)
  if (seal === undefined) return []
  return [
    {
      type: 'reasoning',
      summary: summary.map((text) => ({ type: 'summary_text', text })),
      encrypted_content: seal,
    },
  ]
}

interface WordTarget {
  readonly effort: Effort | undefined
  readonly dialect: ResponsesDialect
}

/** What `reasoning.effort` says to this model; undefined: nothing. */
export function effortName({ effort, dialect }: WordTarget): string | undefined {
  if (effort === undefined || dialect.withoutFields.includes('reasoning')) return undefined
  const spelling = spellEffort(dialect.traits.efforts, effort)
  if (spelling === 'disabled') return 'none'
  return typeof spelling === 'string' ? spelling : undefined
}

/** An effort was asked for, and the protocol has no place for how this model is told of it: a number, or nothing near. */
export const isEffortLost = (target: WordTarget): boolean =>
  target.effort !== undefined && effortName(target) === undefined

/** How a lane is told to reason, and to tell of it; undefined: nothing is said of it. */
function writeReasoningSettings(
  { reasoning }: Pick<Conversation, 'reasoning'>,
  target: WordTarget,
): Fields | undefined {
  const effort = effortName(target)
  if (effort === undefined && reasoning.summary === undefined) return undefined
  return { effort, summary: reasoning.summary }
}

/** How this lane is told of tools: a kind that it does not know becomes a function under a name of ours. */
interface ToolWriter {
  readonly isNative: (tool: ToolName) => boolean
  readonly nameOf: (tool: ToolName) => Fields
}

function toolWriterFor({ nativeTools }: ResponsesDialect, names: Pick<ToolNames, 'upstreamName'>): ToolWriter {
  const isNative = ({ tool, namespace }: ToolName): boolean =>
    (tool === 'function' || nativeTools.includes('custom')) &&
    (namespace === undefined || nativeTools.includes('namespace'))
  return {
    isNative,
    // A plain function goes by its upstream name too: it may have had to make room for a flattened one.
    nameOf: (tool) =>
      isNative(tool) && (tool.namespace !== undefined || tool.tool === 'custom')
        ? { name: tool.name, namespace: tool.namespace }
        : { name: names.upstreamName(tool) },
  }
}

/** Members without a value are not in the JSON. */
function writeTools(tools: readonly ToolDefinition[], writer: ToolWriter): readonly Fields[] {
  const written: Fields[] = []
  const namespaces = new Map<string, Fields[]>()
  for (const tool of tools) {
    const { namespace } = tool
    const named = toolNameOf(tool)
    if (namespace === undefined || !writer.isNative(named)) {
      written.push(writeTool(tool, named, writer))
      continue
    }
    const inside = namespaces.get(namespace) ?? []
    if (inside.length === 0) {
      written.push({ type: 'namespace', name: namespace, description: namespace, tools: inside })
      namespaces.set(namespace, inside)
    }
    const { namespace: _outside, ...definition } = writeTool(tool, named, writer)
    inside.push(definition)
  }
  return written
}

function writeTool(tool: ToolDefinition, named: ToolName, writer: ToolWriter): Fields {
  const name = writer.nameOf(named)
  if (tool.type === 'function') {
    const { description, parameters = NO_PARAMETERS, strict = false } = tool
    // Absent would mean strict, and not every schema can be.
    return { type: 'function', ...name, description, parameters, strict }
  }
  if (!writer.isNative(named)) return { type: 'function', ...name, ...customAsFunction(tool), strict: false }
  const { description, grammar } = tool
  return { type: 'custom', ...name, description, format: grammar && { type: 'grammar', ...grammar } }
}

const NO_PARAMETERS = { type: 'object', properties: {} }

function writeToolChoice(choice: ToolChoice, writer: ToolWriter): unknown {
  const typed = (tool: ToolName): Fields => ({
    type: tool.tool === 'custom' && writer.isNative(tool) ? 'custom' : 'function',
    ...writer.nameOf(tool),
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
