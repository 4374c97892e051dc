import { type Fields, isObject } from '../../lib/is-object.ts'
import { stringOf } from '../../lib/string-of.ts'
import type { AnswerFormat, Conversation, Sampling } from '../../model/conversation.ts'
import type { ChatRequest } from '../../model/turn.ts'
import { parseInPieces } from '../json/parse-in-pieces.ts'
import { readMessages } from './read-messages.ts'
import { readToolChoice, readToolDefinitions } from './read-tools.ts'

/**
 * What a chat request says to its model, for a lane of another protocol. The door has checked types and ranges; what it
 * leaves to providers to understand counts as absent here where it is odd.
 */
export function readConversation(body: Fields): Conversation {
  return {
    instructions: undefined,
    items: Array.isArray(body.messages) ? readMessages(body.messages) : [],
    tools: readToolDefinitions(body),
    toolChoice: readToolChoice(body),
    parallelToolCalls: typeof body.parallel_tool_calls === 'boolean' ? body.parallel_tool_calls : undefined,
    format: readFormat(body.response_format),
    verbosity: stringOf(body.verbosity),
    // Chat has no words to ask for a summary.
    reasoning: { summary: undefined },
    sampling: readSampling(body),
    // An empty name is nobody's.
    identity: {
      user: stringOf(body.user) || undefined,
      safetyIdentifier: stringOf(body.safety_identifier) || undefined,
      promptCacheKey: stringOf(body.prompt_cache_key) || undefined,
    },
  }
}

/** The body as the door has left it: some members are written anew, or dropped. */
export async function parseAsLeft({ body, rewritten }: ChatRequest): Promise<Fields> {
  const value = await parseInPieces(body.bytes)
  const fields: Fields = isObject(value) ? value : {}
  for (const [name, bytes] of rewritten) fields[name] = bytes === null ? undefined : await parseInPieces(bytes)
  return fields
}

function readFormat(format: unknown): AnswerFormat | undefined {
  if (!isObject(format)) return undefined
  if (format.type === 'text' || format.type === 'json_object') return { type: format.type }
  if (format.type !== 'json_schema' || !isObject(format.json_schema)) return undefined
  const { name, description, schema, strict } = format.json_schema
  return {
    type: 'json_schema',
    name: stringOf(name) ?? 'answer',
    description: stringOf(description),
    schema: isObject(schema) ? schema : undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
  }
}

function readSampling(body: Fields): Sampling {
  const { stop } = body
  return {
    temperature: numberOf(body.temperature),
    topP: numberOf(body.top_p),
    presencePenalty: numberOf(body.presence_penalty),
    frequencyPenalty: numberOf(body.frequency_penalty),
    stop: (Array.isArray(stop) ? stop : [stop]).filter((word): word is string => typeof word === 'string'),
    seed: numberOf(body.seed),
    logitBias: isObject(body.logit_bias) ? body.logit_bias : undefined,
    topLogprobs: body.logprobs === true ? (numberOf(body.top_logprobs) ?? 0) : undefined,
  }
}

const numberOf = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined)
