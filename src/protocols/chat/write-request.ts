import { type Fields, isObject } from '../../lib/types.ts'
import type { AnswerFormat, Conversation, ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { type Effort, effortOf, spellEffort } from '../../model/effort.ts'
import { type ChatRequest, memberBytes, type TurnRequest } from '../../model/turn.ts'
import { changesForLanes, type MemberChanges, optionalFieldsLeftOut } from '../fields/read-fields.ts'
import { spliceMembers, tryParse, writtenMember } from '../json/bytes.ts'
import {
  budgetWithin,
  type LaneRequest,
  type LaneTarget,
  type RelayTarget,
  saltFields,
  type WrittenRequest,
} from '../shared/lane-target.ts'
import { clientName, type NamedApart } from '../shared/texts.ts'
import { customAsFunction } from '../tools/custom-tools.ts'
import { allowedTools, createToolNames, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import { type ChatDialect, EFFORT_MANNERS } from './dialects.ts'
import { CHAT_FIELDS } from './parse-request.ts'
import { type FittedMessages, fitMessages, writeMessages } from './write-messages.ts'

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

/** The client's tools and what it wants done with them, as the fields of a chat request; none of them without tools. */
function writeTools(conversation: Conversation, names: ToolNames, dialect: ChatDialect): Fields {
  const { toolChoice, parallelToolCalls } = conversation
  const declared = dialect.allowedTools ? conversation.tools : allowedTools(conversation)
  if (declared.length === 0) return {}
  return {
    tools: declared.map((tool) => writeTool(tool, names, dialect)),
    tool_choice: toolChoice && writeChoice(toolChoice, names, dialect),
    parallel_tool_calls: parallelToolCalls,
  }
}

function writeTool(tool: ToolDefinition, names: ToolNames, dialect: ChatDialect): Fields {
  const name = names.upstreamName(toolNameOf(tool))
  const { description } = tool
  if (tool.type === 'function') {
    return { type: 'function', function: { name, description, parameters: tool.parameters, strict: tool.strict } }
  }
  if (!dialect.customTools) return { type: 'function', function: { name, ...customAsFunction(tool) } }
  return {
    type: 'custom',
    custom: { name, description, format: tool.grammar && { type: 'grammar', grammar: tool.grammar } },
  }
}

function writeChoice(choice: ToolChoice, names: ToolNames, dialect: ChatDialect): unknown {
  switch (choice.type) {
    case 'tool':
      return writeName(choice, names, dialect)
    case 'allowed':
      if (!dialect.allowedTools) return choice.mode
      return {
        type: 'allowed_tools',
        allowed_tools: { mode: choice.mode, tools: choice.tools.map((tool) => writeName(tool, names, dialect)) },
      }
    default:
      return choice.type
  }
}

function writeName(tool: ToolName, names: ToolNames, dialect: ChatDialect): Fields {
  const type = tool.tool === 'custom' && dialect.customTools ? 'custom' : 'function'
  return { type, [type]: { name: names.upstreamName(tool) } }
}

export interface PutEffort {
  readonly fields: Fields
  /** Something of it could not be said: the client is told. */
  readonly isLost: boolean
}

interface EffortTarget {
  readonly effort: Effort | undefined
  readonly outputCap: number
  readonly dialect: ChatDialect
}

const NOTHING: PutEffort = { fields: {}, isLost: false }

/**
 * An effort as this model and its server read it, for a request with these messages; fields that the server has turned out
 * not to take are not among them.
 */
export function putEffort(target: EffortTarget, messages: () => readonly unknown[]): PutEffort {
  const effort = fittingEffort(target, messages)
  const put = spellFor({ ...target, effort })
  const isAnother = target.effort !== undefined && target.effort !== effort
  return isAnother ? { ...put, isLost: true } : put
}

function spellFor({ effort, outputCap, dialect }: EffortTarget): PutEffort {
  if (effort === undefined) return NOTHING
  const spelled = spellEffort(dialect.traits.efforts, effort)
  const spelling = typeof spelled === 'number' ? budgetWithin(spelled, outputCap) : spelled
  const said = spelling === undefined ? undefined : EFFORT_MANNERS[dialect.effort](spelling)
  if (said === undefined) return { fields: {}, isLost: true }
  const taken = Object.entries(said).filter(([name]) => !dialect.withoutFields.includes(name))
  return { fields: Object.fromEntries(taken), isLost: taken.length < Object.keys(said).length }
}

const NOT_TO_THINK = effortOf('none')

/**
 * How hard a model shall think that goes on from these messages. A server that wants its reasoning back with every call
 * refuses to think on from calls that it has not thought about itself, or whose reasoning nobody has kept: then it does not
 * think, and everything else is as it was asked.
 */
function fittingEffort({ dialect, effort }: EffortTarget, messages: () => readonly unknown[]): Effort | undefined {
  return dialect.reasoningBack && effort !== NOT_TO_THINK && messages().some(isUnthoughtCall) ? NOT_TO_THINK : effort
}

function isUnthoughtCall(message: unknown): boolean {
  if (!isObject(message) || message.role !== 'assistant') return false
  const { tool_calls: calls, reasoning_content: thought } = message
  return Array.isArray(calls) && calls.length > 0 && (typeof thought !== 'string' || thought === '')
}

const CALLS = Buffer.from('"tool_calls"')

/** The messages of a request that is relayed, for who looks for calls: none where none of them can have called anything. */
export function messagesWithCalls(request: TurnRequest): readonly Fields[] {
  const bytes = writtenMember(request, 'messages')
  const messages = bytes?.includes(CALLS) ? tryParse(bytes.toString('utf8')) : []
  return Array.isArray(messages) ? messages : []
}

const USAGE_WANTED = '{"include_usage":true}'

/**
 * The client's own bytes with the control fields written anew: names it spelled are replaced or dropped, what it left
 * out is added, everything else is copied untouched. Usage is always asked for, whether the client wants it or not.
 */
export function rewriteRequest(request: ChatRequest, target: RelayTarget<ChatDialect>): LaneRequest {
  const { dialect } = target
  const effort = putEffort(target, () => messagesWithCalls(request))
  const fitted = fitMessages(request, dialect)
  const leftOut = fieldsLeftOut(request, target, { effort, fitted })
  const changes = changesForLanes(request, CHAT_FIELDS)
  for (const name of leftOut) changes.set(name, null)
  renameFields(request, dialect, changes)
  if (fitted.messages !== undefined) changes.set('messages', fitted.messages)
  changes.set('model', JSON.stringify(target.model))
  if (target.delivery === 'stream') {
    changes.set('stream', 'true')
    if (dialect.usageOption) changes.set('stream_options', USAGE_WANTED)
  }
  for (const [name, value] of Object.entries(effort.fields)) {
    changes.set(name, JSON.stringify(withTheirs(request, name, value)))
  }
  changes.set(dialect.capField, JSON.stringify(target.outputCap))
  for (const [name, salt] of Object.entries(saltFields(target))) changes.set(name, JSON.stringify(salt))
  if (request.choices !== 1) changes.set('n', JSON.stringify(request.choices))
  return { body: spliceMembers(request.body, changes), leftOut }
}

interface Told {
  readonly effort: PutEffort
  readonly fitted: FittedMessages
}

/**
 * The fields of this request that a lane does not get: optional ones that nobody passes on, standard ones that the server
 * refuses, and what says of the effort something else than we do.
 */
function fieldsLeftOut(request: ChatRequest, target: RelayTarget<ChatDialect>, { effort, fitted }: Told): string[] {
  const { dialect } = target
  const contradicting = Object.keys(effort.fields).length === 0 ? [] : dialect.effortSwitches
  const unwanted = [...dialect.withoutFields, ...contradicting]
  const refused = request.body.members.flatMap(({ name }) => (unwanted.includes(name) ? [name] : []))
  const named = [
    ...(effort.isLost ? [clientName('effort', 'chat')] : []),
    ...(fitted.withoutNames ? [clientName('messageName', 'chat')] : []),
  ]
  return [...new Set([...optionalFieldsLeftOut(request, target), ...refused, ...named])]
}

/** Of an object that the client may have filled itself, as the arguments of a template, only what we say is changed. */
function withTheirs({ body }: ChatRequest, name: string, ours: unknown): unknown {
  if (name !== 'chat_template_kwargs') return ours
  const theirs = tryParse(memberBytes(body, name)?.toString('utf8') ?? '')
  return isObject(theirs) && isObject(ours) ? { ...theirs, ...ours } : ours
}

function renameFields({ body }: ChatRequest, dialect: ChatDialect, changes: MemberChanges): void {
  for (const from in dialect.renamedFields) {
    const to = dialect.renamedFields[from]!
    const value = memberBytes(body, from)
    if (value === undefined || changes.get(from) === null) continue
    changes.set(from, null)
    changes.set(to, value)
  }
}

/** Custom tools, declared or in the history, become functions on a server that has only those: such a request is translated. */
export const canRewrite = ({ toolKinds, choices }: ChatRequest, { customTools }: ChatDialect): boolean =>
  customTools || choices > 1 || !toolKinds.includes('custom')
