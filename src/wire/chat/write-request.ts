import type { Fields } from '../../lib/is-object.ts'
import type { AnswerFormat, Conversation } from '../../model/conversation.ts'
import { clientName, type NamedApart } from '../client-names.ts'
import { type LaneTarget, saltFields, type WrittenRequest } from '../lane-target.ts'
import { createToolNames } from '../tools/tool-names.ts'
import type { ChatDialect } from './dialects.ts'
import { writeMessages } from './write-messages.ts'
import { putEffort } from './write-thinking.ts'
import { writeTools } from './write-tools.ts'

/** A conversation as the request that a chat lane takes, in its dialect. What it does not get is named as its client names it. */
export function writeRequest(conversation: Conversation, target: LaneTarget<ChatDialect>): WrittenRequest {
  const { dialect } = target
  const names = createToolNames(conversation.tools, {
    custom: dialect.customTools ? 'native' : 'as-function',
    namespace: 'flat',
  })
  const tools = writeTools(conversation, names, dialect)
  const { messages, leftOut } = writeMessages(conversation, names, target)
  const effort = putEffort(target, () => messages)
  const given: Fields = { ...tools, ...writeSettings(conversation) }
  const { fields, refused } = inDialect(given, target)
  const body = {
    model: target.model,
    messages,
    ...fields,
    ...effort.fields,
    [dialect.capField]: target.outputCap,
    ...saltFields(target),
    ...writeDelivery(target),
  }
  const lost = effort.isLost ? [clientName('effort', target.client)] : []
  return { body, leftOut: [...leftOut, ...refused, ...lost], tools: names }
}

/** Fields without a value are not in the JSON. */
function writeSettings({ sampling, identity, format, verbosity }: Conversation): Fields {
  const { stop, topLogprobs } = sampling
  return {
    response_format: format && writeFormat(format),
    verbosity,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    stop: stop.length === 0 ? undefined : stop,
    seed: sampling.seed,
    logit_bias: sampling.logitBias,
    logprobs: topLogprobs === undefined ? undefined : true,
    top_logprobs: topLogprobs,
    user: identity.user,
    safety_identifier: identity.safetyIdentifier,
    prompt_cache_key: identity.promptCacheKey,
  }
}

/** Plain text is what a server answers in unasked. */
function writeFormat(format: AnswerFormat): unknown {
  if (format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json_object' }
  const { type, ...schema } = format
  return { type, json_schema: schema }
}

function writeDelivery({ delivery, dialect }: LaneTarget<ChatDialect>): Fields {
  if (delivery === 'json') return {}
  return { stream: true, ...(dialect.usageOption ? { stream_options: { include_usage: true } } : {}) }
}

/** What the two protocols of clients call by different names. */
const NAMED_APART: Readonly<Record<string, NamedApart>> = {
  verbosity: 'verbosity',
  response_format: 'format',
  logprobs: 'logprobs',
}

function inDialect(given: Fields, { dialect, client }: LaneTarget<ChatDialect>): { fields: Fields; refused: string[] } {
  const fields: Fields = {}
  const refused: string[] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const apart = Object.hasOwn(NAMED_APART, name) ? NAMED_APART[name] : undefined
    if (dialect.withoutFields.includes(name)) refused.push(apart ? clientName(apart, client) : name)
    else fields[dialect.renamedFields[name] ?? name] = value
  }
  return { fields, refused }
}
