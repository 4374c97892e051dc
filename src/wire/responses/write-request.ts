import type { Fields } from '../../lib/is-object.ts'
import type { AnswerFormat, Conversation } from '../../model/conversation.ts'
import { hasBias, isNamed, namesOfAsked, unlessZero } from '../asked-settings.ts'
import { clientName } from '../client-names.ts'
import { type LaneTarget, saltFields, type WrittenRequest } from '../lane-target.ts'
import { createToolNames } from '../tools/tool-names.ts'
import { includeFor, type ResponsesDialect, takesLogprobs } from './dialects.ts'
import { writeItems } from './write-items.ts'
import { isEffortLost, writeReasoning } from './write-thinking.ts'
import { type ToolWriter, toolWriterFor, writeToolChoice, writeTools } from './write-tools.ts'

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
    reasoning: writeReasoning(conversation, target),
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
  namesOfAsked([
    [clientName('effort', target.client), isEffortLost(target)],
    [clientName('logprobs', target.client), sampling.topLogprobs !== undefined && !takesLogprobs(target.dialect)],
  ])

const withoutCounterpart = ({ sampling, items }: Conversation): readonly string[] =>
  namesOfAsked([
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
