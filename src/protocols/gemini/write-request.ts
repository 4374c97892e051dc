import type { Fields } from '../../lib/types.ts'
import {
  type AnswerFormat,
  type Conversation,
  type ConversationItem,
  isText,
  partsText,
  type Sampling,
  type SchemaFormat,
  type ToolChoice,
  type ToolDefinition,
  userMessage,
} from '../../model/conversation.ts'
import { type EffortSpelling, type ModelTraits, spellEffort } from '../../model/effort.ts'
import type { Protocol } from '../../model/turn.ts'
import {
  budgetWithin,
  hasBias,
  isNamed,
  type LaneTarget,
  requestedNames,
  unlessZero,
  type WrittenRequest,
} from '../shared/lane-target.ts'
import { clientName, joinTexts, PLEA_FOR_JSON } from '../shared/texts.ts'
import { customAsFunction } from '../tools/custom-tools.ts'
import { allowedTools, answerToolFor, createToolNames, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'
import { writeContents } from './write-contents.ts'

/** Writes a conversation as the request of generateContent. The model and streaming are in the address. */
export function writeRequest(conversation: Conversation, target: LaneTarget<GeminiDialect>): WrittenRequest {
  const { dialect, outputCap, client } = target
  const { format, sampling } = conversation
  const names = createToolNames(conversation.tools, { custom: 'as-function', namespace: 'flat', begins: 'letter' })
  // A model that cannot be made to answer in JSON is asked to.
  const isAsked = format?.type === 'json_object' && dialect.traits.jsonSchema === 'none'
  const { system, items } = splitSystem(conversation, isAsked ? [PLEA_FOR_JSON] : [])
  const inPlace = dialect.traits.systemPrompt
  const written = writeContents(inPlace || system === '' ? items : [userMessage(system), ...items], names, target)
  const chosen = writeSampling(sampling, target)
  const thinking = writeThinking(conversation, target)
  const { fields: tools, answerTool } = writeTools(conversation, names, dialect)
  const body: Fields = {
    ...(inPlace && system !== '' ? { systemInstruction: { parts: [{ text: system }] } } : {}),
    contents: written.contents,
    ...tools,
    generationConfig: {
      maxOutputTokens: outputCap,
      ...chosen.fields,
      ...writeFormat(format, dialect.traits),
      thinkingConfig: thinking.thinkingConfig,
    },
  }
  const lost = [...written.leftOut, ...chosen.leftOut, ...thinking.leftOut, ...withoutCounterpart(conversation, client)]
  return { body, leftOut: [...new Set(lost)], tools: names, answerTool }
}

/** Instructions stand before everything else: the leading ones are separated from the conversation. */
function splitSystem({ instructions, items }: Conversation, pleas: readonly string[]) {
  const leading = items.findIndex((item) => systemTextOf(item) === undefined)
  const first = leading === -1 ? items.length : leading
  const texts = [instructions, ...items.slice(0, first).map(systemTextOf), ...pleas]
  return { system: joinTexts(texts), items: items.slice(first) }
}

/** Undefined for an item that is not an instruction, or has more than text. */
function systemTextOf(item: ConversationItem): string | undefined {
  if (item.type !== 'message' || (item.role !== 'system' && item.role !== 'developer')) return undefined
  return item.content.every(isText) ? partsText(item.content, '\n') : undefined
}

function withoutCounterpart(conversation: Conversation, client: Protocol): readonly string[] {
  const { sampling, identity, verbosity, parallelToolCalls, tools, items } = conversation
  return requestedNames([
    ['logit_bias', hasBias(sampling)],
    ['parallel_tool_calls', parallelToolCalls === false && tools.length > 0],
    [clientName('verbosity', client), verbosity !== undefined],
    [clientName('messageName', client), items.some(isNamed)],
    ['user', identity.user !== undefined],
    ['safety_identifier', identity.safetyIdentifier !== undefined],
    ['prompt_cache_key', identity.promptCacheKey !== undefined],
  ])
}

/** The sampling settings, without those that this server or this model refuses. */
function writeSampling(sampling: Sampling, { dialect, client }: LaneTarget<GeminiDialect>) {
  const { temperature, topP, stop, seed, topLogprobs } = sampling
  const stops = stop.filter((word) => word !== '')
  /** By the client's name for each. */
  const settings: readonly (readonly [name: string, fields: Fields])[] = [
    ['temperature', { temperature }],
    ['top_p', { topP }],
    ['presence_penalty', { presencePenalty: unlessZero(sampling.presencePenalty) }],
    ['frequency_penalty', { frequencyPenalty: unlessZero(sampling.frequencyPenalty) }],
    ['stop', { stopSequences: stops.length === 0 ? undefined : stops }],
    ['seed', { seed: seed === undefined ? undefined : seedOf(seed) }],
    ['logprobs', { responseLogprobs: topLogprobs === undefined ? undefined : true }],
    ['top_logprobs', { logprobs: topLogprobs === 0 ? undefined : topLogprobs }],
  ]
  const fields: Fields = {}
  const leftOut: string[] = []
  for (const [name, setting] of settings) {
    if (Object.values(setting).every((value) => value === undefined)) continue
    // Dialects and traits use the client's name; what was learned from a refusal has the server's own.
    const isRefused = [name, ...Object.keys(setting)].some((field) => dialect.withoutFields.includes(field))
    if (isRefused) leftOut.push(name === 'logprobs' ? clientName(name, client) : name)
    else Object.assign(fields, setting)
  }
  return { fields, leftOut }
}

/** A seed has 32 bits here: a longer one is shortened, the same way every time. */
const seedOf = (seed: number): number => Math.trunc(seed) | 0

/** Plain text is the default; where a tool takes the answer, the tool has the schema. */
function writeFormat(format: AnswerFormat | undefined, { jsonSchema }: ModelTraits): Fields {
  if (format === undefined || format.type === 'text' || jsonSchema === 'none') return {}
  const json = { responseMimeType: 'application/json' }
  if (format.type !== 'json_schema' || format.schema === undefined) return json
  return jsonSchema === 'tool' ? {} : { ...json, responseJsonSchema: format.schema }
}

/**
 * The thinking level or budget, never both, and whether thoughts are summarised. A Responses client requests a summary; a Chat
 * client cannot, and gets one where it has requested an effort.
 */
function writeThinking({ reasoning }: Conversation, target: LaneTarget<GeminiDialect>) {
  const { effort, client, dialect, outputCap } = target
  const { efforts } = dialect.traits
  const takesIt = !dialect.withoutFields.includes('thinkingConfig')
  const depth = effort === undefined ? {} : takesIt ? depthOf(spellEffort(efforts, effort), outputCap) : undefined
  const wantsSummary = reasoning.summary !== undefined
  const showsThoughts = client === 'responses' ? wantsSummary : effort !== undefined && effort !== 'none'
  const isThinking =
    takesIt &&
    depth !== undefined &&
    depth.thinkingBudget !== 0 &&
    (efforts === undefined || Object.keys(efforts).length > 0)
  const thinkingConfig = { ...depth, ...(showsThoughts && isThinking ? { includeThoughts: true } : {}) }
  return {
    thinkingConfig: Object.keys(thinkingConfig).length === 0 ? undefined : thinkingConfig,
    leftOut: [
      ...(depth === undefined ? [clientName('effort', client)] : []),
      ...(wantsSummary && !isThinking ? [clientName('summary', client)] : []),
    ],
  }
}

/** The smallest budget that a model takes whose thinking cannot be switched off. */
const UNAVOIDABLE_BUDGET = 128

/** Undefined: the effort cannot be expressed, or not under this cap. */
function depthOf(
  spelled: EffortSpelling | undefined,
  outputCap: number,
): { thinkingLevel?: string; thinkingBudget?: number } | undefined {
  if (spelled === undefined) return undefined
  if (spelled === 'disabled') return { thinkingBudget: 0 }
  if (typeof spelled === 'string') return { thinkingLevel: spelled }
  const thinkingBudget = budgetWithin(spelled, outputCap, UNAVOIDABLE_BUDGET)
  return thinkingBudget === undefined ? undefined : { thinkingBudget }
}

interface WrittenTools {
  readonly fields: Fields
  /** The tool whose input is the answer. */
  readonly answerTool?: string
}

/** The client's tools, its choice among them, and the tool that takes the answer where there is one. */
function writeTools(conversation: Conversation, names: ToolNames, dialect: GeminiDialect): WrittenTools {
  const { toolChoice, format } = conversation
  // `allowedFunctionNames` needs a mode in which a call is required.
  const hasAllowedNames = toolChoice?.type === 'allowed' && toolChoice.mode === 'required'
  const tools = hasAllowedNames ? conversation.tools : allowedTools(conversation)
  const declared = tools.map((tool) => writeTool(tool, names))
  // A client that requires a tool call now wants the answer later.
  if (isBySchema(format) && dialect.traits.jsonSchema === 'tool' && !isForced(toolChoice)) {
    const answer = { ...answerToolFor(format, names), parametersJsonSchema: format.schema }
    const mayCallOthers = declared.length > 0 && toolChoice?.type !== 'none'
    const config = { mode: 'ANY', ...(mayCallOthers ? {} : { allowedFunctionNames: [answer.name] }) }
    return { fields: toolFields([...declared, answer], config), answerTool: answer.name }
  }
  if (declared.length === 0) return { fields: {} }
  return { fields: toolFields(declared, writeChoice(toolChoice, tools, { names, dialect })) }
}

const toolFields = (functionDeclarations: readonly Fields[], functionCallingConfig: Fields | undefined): Fields => ({
  tools: [{ functionDeclarations }],
  ...(functionCallingConfig === undefined ? {} : { toolConfig: { functionCallingConfig } }),
})

const isBySchema = (format: AnswerFormat | undefined): format is SchemaFormat =>
  format?.type === 'json_schema' && format.schema !== undefined

const isForced = (choice: ToolChoice | undefined): boolean =>
  choice?.type === 'required' || choice?.type === 'tool' || (choice?.type === 'allowed' && choice.mode === 'required')

function writeTool(tool: ToolDefinition, names: ToolNames): Fields {
  const name = names.upstreamName(toolNameOf(tool))
  const { description, parameters } = tool.type === 'function' ? tool : customAsFunction(tool)
  // The older field takes a part of OpenAPI only.
  return { name, description, parametersJsonSchema: parameters }
}

/** Undefined: the default, in which the model is free. */
function writeChoice(
  choice: ToolChoice | undefined,
  declared: readonly ToolDefinition[],
  { names, dialect }: { readonly names: ToolNames; readonly dialect: GeminiDialect },
): Fields | undefined {
  const freely = dialect.validatedCalls && declared.some(isStrict) ? 'VALIDATED' : 'AUTO'
  switch (choice?.type) {
    case undefined:
      return freely === 'AUTO' ? undefined : { mode: freely }
    case 'none':
      return { mode: 'NONE' }
    case 'required':
      return { mode: 'ANY' }
    case 'tool':
      return { mode: 'ANY', allowedFunctionNames: [names.upstreamName(choice)] }
    case 'allowed':
      if (choice.mode === 'auto') return { mode: freely }
      return { mode: 'ANY', allowedFunctionNames: choice.tools.map(names.upstreamName) }
    default:
      return { mode: freely }
  }
}

/** Arguments of required calls always follow the schema; those of free calls do only where the client requests it. */
const isStrict = (tool: ToolDefinition): boolean => tool.type === 'function' && tool.strict === true
