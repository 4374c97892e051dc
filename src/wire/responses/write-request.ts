import type { Fields } from '../../lib/is-object.ts'
import type { AnswerFormat, Conversation } from '../../model/conversation.ts'
import { clientName } from '../client-names.ts'
import { type LaneTarget, saltFields, type WrittenRequest } from '../lane-target.ts'
import { createToolNames } from '../tools/tool-names.ts'
import { includeFor, type ResponsesDialect, takesLogprobs } from './dialects.ts'
import { writeItems } from './write-items.ts'
import { isEffortLost, writeReasoning } from './write-thinking.ts'
import { toolWriterFor, writeToolChoice, writeTools } from './write-tools.ts'

/** A conversation as the request that a lane of this protocol gets. No lane keeps state for us. */
export function writeRequest(conversation: Conversation, target: LaneTarget<ResponsesDialect>): WrittenRequest {
  const { dialect } = target
  const names = createToolNames(conversation.tools, {
    custom: dialect.nativeTools.includes('custom') ? 'native' : 'as-function',
    namespace: dialect.nativeTools.includes('namespace') ? 'native' : 'flat',
  })
  const tools = toolWriterFor(dialect, names)
  const { sampling, identity, instructions } = conversation
  const body: Fields = {
    model: target.model,
    ...(instructions === undefined ? {} : { instructions }),
    input: writeItems(conversation.items, target, tools),
    max_output_tokens: target.outputCap,
    store: false,
    ...saltFields(target),
  }
  if (target.delivery === 'stream') body.stream = true
  if (conversation.tools.length > 0) {
    body.tools = writeTools(conversation.tools, tools)
    set(body, 'tool_choice', conversation.toolChoice && writeToolChoice(conversation.toolChoice, tools))
    set(body, 'parallel_tool_calls', conversation.parallelToolCalls)
  }
  set(body, 'text', writeText(conversation))
  set(body, 'reasoning', writeReasoning(conversation, target))
  const include = includeFor(dialect, { logprobs: sampling.topLogprobs !== undefined })
  if (include.length > 0) body.include = include
  set(body, 'top_logprobs', sampling.topLogprobs)
  set(body, 'temperature', sampling.temperature)
  set(body, 'top_p', sampling.topP)
  set(body, 'presence_penalty', unlessZero(sampling.presencePenalty))
  set(body, 'frequency_penalty', unlessZero(sampling.frequencyPenalty))
  set(body, 'user', identity.user)
  set(body, 'safety_identifier', identity.safetyIdentifier)
  set(body, 'prompt_cache_key', identity.promptCacheKey)
  const wantsLogprobs = sampling.topLogprobs !== undefined
  const leftOut = [
    ...withoutCounterpart(conversation),
    ...leaveOut(body, dialect),
    ...(isEffortLost(target) ? [clientName('effort', target.client)] : []),
    ...(wantsLogprobs && !takesLogprobs(dialect) ? [clientName('logprobs', target.client)] : []),
  ]
  return { body: Buffer.from(JSON.stringify(body)), leftOut, tools: names }
}

function set(body: Fields, name: string, value: unknown): void {
  if (value !== undefined) body[name] = value
}

/** Zero is no penalty: a server that knows none shall not seem to have lost one. */
const unlessZero = (penalty: number | undefined): number | undefined => (penalty === 0 ? undefined : penalty)

/** What the server refuses goes; `store` and `include` are ours, and nobody misses them. */
function leaveOut(body: Fields, { withoutFields }: ResponsesDialect): readonly string[] {
  const refused = withoutFields.filter((name) => name in body && !NEVER_LEFT_OUT.has(name))
  for (const name of refused) delete body[name]
  return refused.filter((name) => name !== 'store' && name !== 'include')
}

/** Without these it is no request, or one that the hold does not cover. */
const NEVER_LEFT_OUT = new Set(['model', 'input', 'stream', 'max_output_tokens'])

function withoutCounterpart({ sampling, items }: Conversation): readonly string[] {
  const { stop, seed, logitBias } = sampling
  const asked: readonly [name: string, isAsked: boolean][] = [
    ['stop', stop.length > 0],
    ['seed', seed !== undefined],
    ['logit_bias', logitBias !== undefined && Object.keys(logitBias).length > 0],
    ['messages.name', items.some((item) => item.type === 'message' && item.name !== undefined)],
  ]
  return asked.flatMap(([name, isAsked]) => (isAsked ? [name] : []))
}

function writeText({ format, verbosity }: Conversation): Fields | undefined {
  const text: Fields = {}
  if (format !== undefined) text.format = writeFormat(format)
  if (verbosity !== undefined) text.verbosity = verbosity
  return Object.keys(text).length === 0 ? undefined : text
}

function writeFormat(format: AnswerFormat): Fields {
  if (format.type !== 'json_schema') return { type: format.type }
  const { type, name, description, schema, strict } = format
  return {
    type,
    name,
    ...(description === undefined ? {} : { description }),
    // Chat may leave it out, and this protocol may not.
    schema: schema ?? {},
    ...(strict === undefined ? {} : { strict }),
  }
}
