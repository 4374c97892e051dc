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
import { answerToolFor } from '../tools/answer-tool.ts'
import { customAsFunction } from '../tools/custom-tools.ts'
import { allowedTools, createToolNames, type ToolNames, toolNameOf } from '../tools/tool-names.ts'
import type { GeminiDialect } from './dialects.ts'
import { writeContents } from './write-contents.ts'

/** A conversation as the request of generateContent. Which model and whether to stream is said by the address. */
export function writeRequest(conversation: Conversation, target: LaneTarget<GeminiDialect>): WrittenRequest {
  const { dialect, outputCap, client } = target
  const { format, sampling } = conversation
  const names = createToolNames(conversation.tools, { custom: 'as-function', namespace: 'flat', begins: 'letter' })
  const { system, items } = partSystem(conversation, pleaForJson(format, dialect.traits))
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
  return {
    body,
    leftOut: [
      ...new Set([
        ...written.leftOut,
        ...chosen.leftOut,
        ...thinking.leftOut,
        ...withoutCounterpart(conversation, client),
      ]),
    ],
    tools: names,
    answerTool,
  }
}

/** Instructions stand before everything else: those that come first are told apart from the conversation. */
function partSystem({ instructions, items }: Conversation, pleas: readonly string[]): Parted {
  const leading = items.findIndex((item) => systemTextOf(item) === undefined)
  const first = leading === -1 ? items.length : leading
  const texts = [instructions, ...items.slice(0, first).map(systemTextOf), ...pleas]
  return {
    system: joinTexts(texts),
    items: items.slice(first),
  }
}

interface Parted {
  readonly system: string
  readonly items: readonly ConversationItem[]
}

/** Undefined for what is no instruction, or is more than text. */
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

interface WrittenSampling {
  readonly fields: Fields
  readonly leftOut: readonly string[]
}

/** How words are chosen, without what this server or this model refuses. */
function writeSampling(sampling: Sampling, { dialect, client }: LaneTarget<GeminiDialect>): WrittenSampling {
  const { temperature, topP, stop, seed, topLogprobs } = sampling
  const stops = stop.filter((word) => word !== '')
  const wanted: readonly FundingRequest[] = [
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
  for (const [name, wish] of wanted) {
    if (Object.values(wish).every((value) => value === undefined)) continue
    if (isRefused(name, wish, dialect)) leftOut.push(name === 'logprobs' ? clientName(name, client) : name)
    else Object.assign(fields, wish)
  }
  return { fields, leftOut }
}

/** As clients call it, and what it is here. */
type FundingRequest = readonly [name: string, fields: Fields]

/** By the client's name, as rows and traits have it, or by the server's own, as it has complained itself. */
const isRefused = (name: string, wish: Fields, { withoutFields }: GeminiDialect): boolean =>
  [name, ...Object.keys(wish)].some((refused) => withoutFields.includes(refused))

/** A seed has 32 bits here: a longer one loses the rest, the same way every time. */
const seedOf = (seed: number): number => Math.trunc(seed) | 0

/** Plain text is what a model answers in unasked; where a tool takes the answer, the tool has the schema. */
function writeFormat(format: AnswerFormat | undefined, { jsonSchema }: ModelTraits): Fields {
  if (format === undefined || format.type === 'text' || jsonSchema === 'none') return {}
  const json = { responseMimeType: 'application/json' }
  if (format.type !== 'json_schema' || format.schema === undefined) return json
  return jsonSchema === 'tool' ? {} : { ...json, responseJsonSchema: format.schema }
}

/** What a model is told that has no way to be made to answer in JSON. */
const pleaForJson = (format: AnswerFormat | undefined, { jsonSchema }: ModelTraits): readonly string[] =>
  format?.type === 'json_object' && jsonSchema === 'none' ? [PLEA_FOR_JSON] : []

interface WrittenThinking {
  /** Undefined: the model thinks as it does unasked, and tells nothing of it. */
  readonly thinkingConfig: Fields | undefined
  readonly leftOut: readonly string[]
}

/**
 * How hard the model thinks, by level or by budget, never both, and whether it tells of it. A Responses client asks for a
 * summary; a Chat client has no word for that, and is told where it has asked for an effort.
 */
function writeThinking({ reasoning }: Conversation, target: LaneTarget<GeminiDialect>): WrittenThinking {
  const { effort, client, dialect, outputCap } = target
  const { efforts } = dialect.traits
  const takesIt = !dialect.withoutFields.includes('thinkingConfig')
  const depth = effort === undefined ? {} : takesIt ? depthOf(spellEffort(efforts, effort), outputCap) : undefined
  const asksForSummary = reasoning.summary !== undefined
  const asksToBeTold = client === 'responses' ? asksForSummary : effort !== undefined && effort !== 'none'
  const isThinking =
    takesIt &&
    depth !== undefined &&
    depth.thinkingBudget !== 0 &&
    (efforts === undefined || Object.keys(efforts).length > 0)
  const thinkingConfig = { ...depth, ...(asksToBeTold && isThinking ? { includeThoughts: true } : {}) }
  return {
    thinkingConfig: Object.keys(thinkingConfig).length === 0 ? undefined : thinkingConfig,
    leftOut: [
      ...(depth === undefined ? [clientName('effort', client)] : []),
      ...(asksForSummary && !isThinking ? [clientName('summary', client)] : []),
    ],
  }
}

/** The smallest budget that a model takes which cannot be kept from thinking. */
const UNAVOIDABLE_BUDGET = 128

/** Undefined: it cannot be said, or not under this cap. */
function depthOf(spelled: EffortSpelling | undefined, outputCap: number): Depth | undefined {
  if (spelled === undefined) return undefined
  if (spelled === 'disabled') return { thinkingBudget: 0 }
  if (typeof spelled === 'string') return { thinkingLevel: spelled }
  const thinkingBudget = budgetWithin(spelled, outputCap, UNAVOIDABLE_BUDGET)
  return thinkingBudget === undefined ? undefined : { thinkingBudget }
}

interface Depth {
  readonly thinkingLevel?: string
  readonly thinkingBudget?: number
}

interface WrittenTools {
  readonly fields: Fields
  /** The tool whose input is the answer. */
  readonly answerTool?: string
}

/** The client's tools, what it wants done with them, and the tool that takes the answer where there is one. */
function writeTools(conversation: Conversation, names: ToolNames, dialect: GeminiDialect): WrittenTools {
  const { toolChoice, format } = conversation
  // Which of them are allowed can only be said where one of them has to be called.
  const canBeSaid = toolChoice?.type === 'allowed' && toolChoice.mode === 'required'
  const tools = canBeSaid ? conversation.tools : allowedTools(conversation)
  const declared = tools.map((tool) => writeTool(tool, names))
  // A client that wants a tool called now wants that, and the answer later.
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

interface ChoiceWords {
  readonly names: ToolNames
  readonly dialect: GeminiDialect
}

/** Undefined: the model is free, as it is unasked. */
function writeChoice(
  choice: ToolChoice | undefined,
  declared: readonly ToolDefinition[],
  { names, dialect }: ChoiceWords,
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

/** Arguments that have to be called for always follow the schema; free ones do where somebody asks for it. */
const isStrict = (tool: ToolDefinition): boolean => tool.type === 'function' && tool.strict === true
