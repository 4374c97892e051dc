import { type Fields, isObject } from '../../lib/types.ts'
import type { AnswerFormat, Conversation, ToolChoice, ToolDefinition, ToolName } from '../../model/conversation.ts'
import { effortOf, spellEffort } from '../../model/effort.ts'
import type { ChatRequest, MessageSign } from '../../model/turn.ts'
import { isAbsent } from '../fields/check-value.ts'
import { changesForLane } from '../fields/read-fields.ts'
import { arrayElements, jsonArray, memberBytes, spliceMembers, tryParse } from '../json/bytes.ts'
import { spliceElement } from '../json/scan-json.ts'
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
import { type ChatDialect, EFFORT_FIELDS } from './dialects.ts'
import { CHAT_FIELDS } from './parse-request.ts'
import { callIdFor, isPrefill, writeMessages } from './write-messages.ts'

/** Writes a conversation as the request that a chat lane takes, in its dialect. What it does not get is named as its client names it. */
export function writeRequest(conversation: Conversation, target: LaneTarget<ChatDialect>): WrittenRequest {
  const { dialect, client } = target
  const names = createToolNames(conversation.tools, {
    custom: dialect.customTools ? 'native' : 'as-function',
    namespace: 'flat',
  })
  const { messages, leftOut } = writeMessages(conversation, names, target)
  const effort = writeEffort(target, () => messages)
  const fields: Fields = {}
  const refused: string[] = []
  const settings: Fields = { ...writeTools(conversation, names, dialect), ...writeSettings(conversation) }
  for (const [name, value] of Object.entries(settings)) {
    if (value === undefined) continue
    const apart = NAMES_BY_PROTOCOL.get(name)
    if (dialect.withoutFields.includes(name)) refused.push(apart ? clientName(apart, client) : name)
    else fields[dialect.renamedFields[name] ?? name] = value
  }
  const body = {
    model: target.model,
    messages,
    ...fields,
    ...effort.fields,
    [dialect.capField]: target.outputCap,
    ...saltFields(target),
    ...(target.delivery === 'json' ? {} : { stream: true }),
    ...(target.delivery === 'json' || !dialect.usageOption ? {} : { stream_options: { include_usage: true } }),
  }
  const lost = effort.isLost ? [clientName('effort', client)] : []
  return { body, leftOut: [...leftOut, ...refused, ...lost], tools: names }
}

/** What the two client protocols call by different names. */
const NAMES_BY_PROTOCOL: ReadonlyMap<string, NamedApart> = new Map([
  ['verbosity', 'verbosity'],
  ['response_format', 'format'],
  ['logprobs', 'logprobs'],
])

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

/** Plain text is the default of every server. */
function writeFormat(format: AnswerFormat): unknown {
  if (format.type === 'text') return undefined
  if (format.type === 'json_object') return { type: 'json_object' }
  const { type, ...schema } = format
  return { type, json_schema: schema }
}

/** The client's tools and its choice among them; no fields at all without tools. */
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
  const format = tool.grammar && { type: 'grammar', grammar: tool.grammar }
  return { type: 'custom', custom: { name, description, format } }
}

function writeChoice(choice: ToolChoice, names: ToolNames, dialect: ChatDialect): unknown {
  const writeName = (tool: ToolName): Fields => {
    const type = tool.tool === 'custom' && dialect.customTools ? 'custom' : 'function'
    return { type, [type]: { name: names.upstreamName(tool) } }
  }
  if (choice.type === 'tool') return writeName(choice)
  if (choice.type !== 'allowed') return choice.type
  if (!dialect.allowedTools) return choice.mode
  return { type: 'allowed_tools', allowed_tools: { mode: choice.mode, tools: choice.tools.map(writeName) } }
}

interface WrittenEffort {
  readonly fields: Fields
  /** Part of the effort cannot be expressed, and is named to the client. */
  readonly isLost: boolean
}

const NO_EFFORT: WrittenEffort = { fields: {}, isLost: false }
const NO_THINKING = effortOf('none')

/**
 * The fields for an effort, as this model and its server read it, for a request with these messages. Fields that the server has
 * turned out to refuse are left out.
 *
 * A server that wants its reasoning back with every call refuses to think on from calls without reasoning: those of another
 * model, or those whose reasoning was not kept. Then thinking is switched off, and everything else stays as requested.
 */
function writeEffort(
  { effort: requested, outputCap, dialect }: Pick<LaneTarget<ChatDialect>, 'effort' | 'outputCap' | 'dialect'>,
  messages: () => readonly unknown[],
): WrittenEffort {
  const mayThink = !dialect.requiresReasoning || requested === NO_THINKING || !messages().some(isCallWithoutReasoning)
  const effort = mayThink ? requested : NO_THINKING
  const isReplaced = requested !== undefined && requested !== effort
  if (effort === undefined) return NO_EFFORT
  const spelled = spellEffort(dialect.traits.efforts, effort)
  const spelling = typeof spelled === 'number' ? budgetWithin(spelled, outputCap) : spelled
  const fields = spelling === undefined ? undefined : EFFORT_FIELDS[dialect.effort](spelling)
  if (fields === undefined) return { fields: {}, isLost: true }
  const taken = Object.entries(fields).filter(([name]) => !dialect.withoutFields.includes(name))
  return { fields: Object.fromEntries(taken), isLost: isReplaced || taken.length < Object.keys(fields).length }
}

function isCallWithoutReasoning(message: unknown): boolean {
  if (!isObject(message) || message.role !== 'assistant') return false
  const { tool_calls: calls, reasoning_content: reasoning } = message
  return Array.isArray(calls) && calls.length > 0 && (typeof reasoning !== 'string' || reasoning === '')
}

/** The messages of a relayed request; none where none of them has a call. */
function messagesWithCalls({ messageSigns }: ChatRequest, bytes: Buffer | undefined): readonly unknown[] {
  const messages = bytes && messageSigns.has('call') ? tryParse(bytes.toString('utf8')) : []
  return Array.isArray(messages) ? messages : []
}

const USAGE_WANTED = '{"include_usage":true}'

/**
 * The client's own bytes with the control fields rewritten: fields that the client sent are replaced or dropped, missing ones
 * are added, everything else is copied untouched. Usage is always requested, whether the client wants it or not.
 */
export function rewriteRequest(request: ChatRequest, target: RelayTarget<ChatDialect>): LaneRequest {
  const { dialect } = target
  const { body } = request
  const messages = request.rewritten.get('messages') ?? memberBytes(body, 'messages')
  const hasEffort = target.effort !== undefined || dialect.requiresReasoning
  const effort = hasEffort ? writeEffort(target, () => messagesWithCalls(request, messages)) : NO_EFFORT
  const signs = request.messageSigns.size === 0 ? [] : refusedSigns(request.messageSigns, dialect)
  const fitted = messages !== undefined && signs.length > 0 ? fitMessages(messages, dialect, signs) : undefined
  const { changes, leftOut: withoutOptional } = changesForLane(request, target, CHAT_FIELDS)
  const leftOut = new Set(withoutOptional)
  // Fields that contradict the effort go too.
  const contradicting = Object.keys(effort.fields).length === 0 ? [] : dialect.effortSwitches
  for (const { name } of body.members) {
    if (dialect.withoutFields.includes(name) || contradicting.includes(name)) leftOut.add(name)
  }
  if (effort.isLost) leftOut.add(clientName('effort', 'chat'))
  if (fitted?.withoutNames) leftOut.add(clientName('messageName', 'chat'))
  for (const name of leftOut) changes.set(name, null)
  for (const from in dialect.renamedFields) {
    const value = memberBytes(body, from)
    if (value === undefined || changes.get(from) === null) continue
    changes.set(from, null)
    changes.set(dialect.renamedFields[from]!, value)
  }
  if (fitted !== undefined) changes.set('messages', fitted.messages)
  changes.set('model', JSON.stringify(target.model))
  if (target.delivery === 'stream') {
    changes.set('stream', 'true')
    if (dialect.usageOption) changes.set('stream_options', USAGE_WANTED)
  }
  for (const name in effort.fields) {
    changes.set(name, JSON.stringify(withClientMembers(request, name, effort.fields[name])))
  }
  changes.set(dialect.capField, JSON.stringify(target.outputCap))
  if (dialect.cacheSaltField !== undefined && target.cacheSalt !== undefined) {
    changes.set(dialect.cacheSaltField, JSON.stringify(target.cacheSalt))
  }
  if (request.choices !== 1) changes.set('n', JSON.stringify(request.choices))
  return { body: spliceMembers(body, changes), leftOut: [...leftOut] }
}

/** The bytes that a message contains if this server would refuse it: the other messages need not be parsed. */
function refusedSigns(has: ReadonlySet<MessageSign>, dialect: ChatDialect): readonly string[] {
  const signs: string[] = []
  if (has.has('developer') && !dialect.developerRole) signs.push('developer')
  if (has.has('name') && !dialect.messageNames) signs.push('"name"')
  if (has.has('call') && dialect.callIds !== 'any') signs.push('"tool_call')
  if (has.has('assistant') && dialect.prefill !== 'plain') signs.push('assistant')
  if (has.has('answer')) for (const name of dialect.withoutAnswerMembers) signs.push(`"${name}"`)
  return signs
}

/** The messages of a client as one server takes them; undefined where they may stay as they are. */
function fitMessages(
  messages: Buffer,
  dialect: ChatDialect,
  signs: readonly string[],
): { readonly messages: Buffer; readonly withoutNames: boolean } | undefined {
  const elements = arrayElements(messages)
  let withoutNames = false
  let isChanged = false
  const written = elements.map((element, at) => {
    if (!hasSign(element, signs)) return element
    const message: Fields = JSON.parse(element.toString('utf8'))
    const changes = changesOf(message, dialect, at === elements.length - 1)
    if (changes.size === 0) return element
    isChanged = true
    withoutNames ||= changes.get('name') === null
    return spliceElement(element, changes)
  })
  return isChanged ? { messages: jsonArray(written), withoutNames } : undefined
}

function hasSign(bytes: Buffer, signs: readonly string[]): boolean {
  for (const sign of signs) if (bytes.includes(sign)) return true
  return false
}

function changesOf(message: Fields, dialect: ChatDialect, isLast: boolean): Map<string, string | null> {
  const changes = new Map<string, string | null>()
  const { role, name, tool_call_id: answers, tool_calls: calls } = message
  // Servers that know only `system` refuse a developer message, or take it for a user's.
  if (role === 'developer' && !dialect.developerRole) changes.set('role', '"system"')
  if (name !== undefined && !dialect.messageNames) changes.set('name', null)
  if (dialect.callIds !== 'any') {
    if (typeof answers === 'string') changes.set('tool_call_id', JSON.stringify(callIdFor(answers, dialect)))
    if (Array.isArray(calls)) changes.set('tool_calls', JSON.stringify(calls.map((call) => fitCall(call, dialect))))
  }
  if (role === 'assistant') {
    for (const member of dialect.withoutAnswerMembers) if (message[member] !== undefined) changes.set(member, null)
    const { content, refusal } = message
    if (changes.has('refusal') && typeof refusal === 'string' && (isAbsent(content) || content === ''))
      changes.set('content', JSON.stringify(refusal))
  }
  if (isLast && isPrefill(message) && dialect.prefill === 'prefix') changes.set('prefix', 'true')
  return changes
}

const fitCall = (call: unknown, dialect: ChatDialect): unknown =>
  isObject(call) && typeof call.id === 'string' ? { ...call, id: callIdFor(call.id, dialect) } : call

/** The arguments of a prompt template, which the client may have filled itself: only our members are changed. */
function withClientMembers({ body }: ChatRequest, name: string, ours: unknown): unknown {
  if (name !== 'chat_template_kwargs') return ours
  const theirs = tryParse(memberBytes(body, name)?.toString('utf8') ?? '')
  return isObject(theirs) && isObject(ours) ? { ...theirs, ...ours } : ours
}

/** On a server that has only functions, custom tools (declared or in the history) become functions: such a request is translated. */
export const canRewrite = ({ toolKinds, choices }: ChatRequest, { customTools }: ChatDialect): boolean =>
  customTools || choices > 1 || !toolKinds.includes('custom')
