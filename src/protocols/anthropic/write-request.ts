import type { Fields } from '../../lib/types.ts'
import type { Conversation } from '../../model/conversation.ts'
import { type EffortSpellings, effortOf, type PromptCache, spellEffort } from '../../model/effort.ts'
import type { Protocol } from '../../model/turn.ts'
import {
  BUDGET_MIN,
  budgetWithin,
  hasBias,
  type LaneTarget,
  requestedNames,
  unlessZero,
  type WrittenRequest,
} from '../shared/lane-target.ts'
import { clientName, PLEA_FOR_JSON } from '../shared/texts.ts'
import { createToolNames } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'
import {
  type Block,
  isLoopWithoutThinking,
  type SettledMessage,
  settleMessages,
  textBlocks,
  writeMessages,
} from './write-messages.ts'
import { type FormatPlan, planFormat, writeTools } from './write-tools.ts'

/** A conversation as the request that an Anthropic lane takes, in its dialect. */
export function writeRequest(conversation: Conversation, target: LaneTarget<AnthropicDialect>): WrittenRequest {
  const { dialect, client } = target
  const names = createToolNames(conversation.tools, { custom: 'as-function', namespace: 'flat' })
  const format = planFormat(conversation, dialect)
  const { fields, isForced, answerTool } = writeTools(conversation, names, { dialect, format })
  const draft = writeMessages(conversation, names, target)
  const settle = (thinking: ThinkingPlan['state']) =>
    settleMessages(draft.messages, {
      keepsThinking: thinking !== 'off',
      prefill: dialect.prefill && thinking !== 'on' && format.kind === 'plain',
    })
  const unsaid = settle('unsaid')
  const isForeign = isLoopWithoutThinking(unsaid)
  const plan = planThinking({ target, wantsSummary: wantsSummary(conversation, target), isForced, isForeign })
  const system = [...draft.system, ...textBlocks(format.kind === 'sentence' ? PLEA_FOR_JSON : '')]
  const caching = dialect.withoutFields.includes('cache_control') ? 'off' : target.promptCache
  const unmarked = {
    system,
    tools: fields.tools ?? [],
    messages: plan.state === 'unsaid' ? unsaid : settle(plan.state),
  }
  const prompt = markCache(unmarked, caching)
  const settings = writeSettings(conversation, { dialect, client, isThinking: plan.state === 'on' })
  const body = {
    model: target.model,
    max_tokens: target.outputCap,
    ...(target.delivery === 'stream' ? { stream: true } : {}),
    ...(prompt.system.length === 0 ? {} : { system: prompt.system }),
    messages: prompt.messages,
    ...fields,
    ...(fields.tools === undefined ? {} : { tools: prompt.tools }),
    ...settings.fields,
    ...(plan.thinking === undefined ? {} : { thinking: plan.thinking }),
    ...writeOutput(format, plan, dialect),
  }
  const isEffortLost = plan.isLost || (plan.effort !== undefined && dialect.withoutFields.includes('output_config'))
  const lostEffort = isEffortLost ? [clientName('effort', client)] : []
  return {
    body,
    leftOut: [...new Set([...draft.leftOut, ...settings.leftOut, ...lostEffort])],
    keepsMarks: keepsAllMarks(unmarked, caching),
    tools: names,
    answerTool,
  }
}

/** A Chat client cannot say whether it wants to be told; one that asks for thought is shown it. */
const wantsSummary = ({ reasoning }: Conversation, { client, effort }: LaneTarget<AnthropicDialect>): boolean =>
  client === 'responses' ? reasoning.summary !== undefined : effort !== undefined

function writeOutput(format: FormatPlan, { effort }: ThinkingPlan, { withoutFields }: AnthropicDialect): Fields {
  const output = {
    ...(effort === undefined || withoutFields.includes('output_config') ? {} : { effort }),
    ...(format.kind === 'held' ? { format: { type: 'json_schema', schema: format.schema } } : {}),
  }
  return Object.keys(output).length === 0 ? {} : { output_config: output }
}

interface WrittenSettings {
  readonly fields: Fields
  readonly leftOut: readonly string[]
}

interface SettingsLane {
  readonly dialect: AnthropicDialect
  readonly client: Protocol
  readonly isThinking: boolean
}

/** How words are chosen, where the answer stops, and for whom it is. */
function writeSettings(conversation: Conversation, lane: SettingsLane): WrittenSettings {
  const written = [writeSampling(conversation, lane), writeStop(conversation, lane), writeUser(conversation, lane)]
  return {
    fields: Object.assign({}, ...written.map(({ fields }) => fields)),
    leftOut: [...written.flatMap(({ leftOut }) => leftOut), ...withoutCounterpart(conversation, lane)],
  }
}

const takes = ({ dialect }: SettingsLane, field: string): boolean => !dialect.withoutFields.includes(field)

/** From here on a model that thinks takes it. */
const TOP_P_THINKING_MIN = 0.95

/** Clients count to 2 where the server counts to 1. It wants one of the two, and of a model that thinks hardly any. */
function writeSampling({ sampling: { temperature, topP } }: Conversation, lane: SettingsLane): WrittenSettings {
  const heat = temperature === undefined ? undefined : Math.min(1, Math.max(0, temperature))
  const takesHeat = heat !== undefined && takes(lane, 'temperature') && (!lane.isThinking || heat === 1)
  const takesTopP =
    topP !== undefined && takes(lane, 'top_p') && !takesHeat && (!lane.isThinking || topP >= TOP_P_THINKING_MIN)
  return {
    fields: { ...(takesHeat ? { temperature: heat } : {}), ...(takesTopP ? { top_p: Math.min(1, topP) } : {}) },
    leftOut: [
      ...(temperature === undefined || takesHeat ? [] : ['temperature']),
      ...(topP === undefined || takesTopP ? [] : ['top_p']),
    ],
  }
}

/** One of nothing but spaces is refused. */
function writeStop({ sampling: { stop } }: Conversation, lane: SettingsLane): WrittenSettings {
  const kept = takes(lane, 'stop_sequences') ? stop.filter((sequence) => sequence.trim() !== '') : []
  return {
    fields: kept.length === 0 ? {} : { stop_sequences: kept },
    leftOut: kept.length === stop.length ? [] : ['stop'],
  }
}

const USER_LENGTH_MAX = 256

function writeUser({ identity: { safetyIdentifier, user } }: Conversation, lane: SettingsLane): WrittenSettings {
  const named = [
    ['safety_identifier', safetyIdentifier],
    ['user', user],
  ] as const
  const [sent] = takes(lane, 'metadata')
    ? named.filter(([, id]) => id !== undefined && id !== '' && id.length <= USER_LENGTH_MAX)
    : []
  return {
    fields: sent === undefined ? {} : { metadata: { user_id: sent[1] } },
    leftOut: named.flatMap(([name, id]) => (id === undefined || id === sent?.[1] ? [] : [name])),
  }
}

const withoutCounterpart = ({ sampling, verbosity, identity }: Conversation, { client }: SettingsLane): string[] =>
  requestedNames([
    ['presence_penalty', unlessZero(sampling.presencePenalty) !== undefined],
    ['frequency_penalty', unlessZero(sampling.frequencyPenalty) !== undefined],
    ['seed', sampling.seed !== undefined],
    ['logit_bias', hasBias(sampling)],
    [clientName('logprobs', client), sampling.topLogprobs !== undefined],
    ['top_logprobs', (sampling.topLogprobs ?? 0) > 0],
    [clientName('verbosity', client), verbosity !== undefined],
    ['prompt_cache_key', identity.promptCacheKey !== undefined],
  ])

/** How the model is to think. */
interface ThinkingPlan {
  readonly thinking?: Fields
  readonly effort?: string
  /** It was told to, or may; not to is what `off` says. */
  readonly state: 'on' | 'off' | 'unsaid'
  /** What the client asked for cannot be had in this request. */
  readonly isLost: boolean
}

/** What decides it, besides the effort. */
interface ThinkingCase {
  readonly target: Pick<LaneTarget<AnthropicDialect>, 'effort' | 'dialect' | 'outputCap'>
  /** The client wants to be told what was thought. */
  readonly wantsSummary: boolean
  /** It has to call a tool now. */
  readonly isForced: boolean
  /** The calls that it is to go on from were not made with thinking of its own. */
  readonly isForeign: boolean
}

const UNSAID: ThinkingPlan = { state: 'unsaid', isLost: false }

function planThinking(asked: ThinkingCase): ThinkingPlan {
  const { effort, dialect, outputCap } = asked.target
  const { efforts } = dialect.traits
  if (dialect.withoutFields.includes('thinking')) return { ...UNSAID, isLost: effort !== undefined }
  const shown = asked.wantsSummary && dialect.thinkingDisplay ? { display: 'summarized' } : {}
  if (effort === undefined) {
    const decidesItself = Object.values(efforts ?? {}).some(isEffortWord)
    if (!decidesItself || !('display' in shown)) return UNSAID
    return { ...UNSAID, thinking: { type: 'adaptive', ...shown }, state: 'on' }
  }
  const spelled = spellEffort(efforts, effort)
  if (spelled === undefined) return { ...UNSAID, isLost: true }
  if (spelled === 'disabled' || spelled === 0) return { ...OFF, isLost: false }
  if (spelled === 'between_tools') return { thinking: { type: spelled }, state: 'on', isLost: false }
  if (typeof spelled === 'string') {
    return { thinking: { type: 'adaptive', ...shown }, effort: spelled, state: 'on', isLost: false }
  }
  const budget = spelled < BUDGET_MIN ? undefined : budgetWithin(spelled, outputCap)
  // None of these goes together with a budget: it would be a 400.
  if (budget === undefined || asked.isForced || asked.isForeign) return offInstead(efforts)
  return { thinking: { type: 'enabled', budget_tokens: budget, ...shown }, state: 'on', isLost: false }
}

const OFF = { thinking: { type: 'disabled' }, state: 'off' } as const

const NONE = effortOf('none')

/** Some models cannot be told not to think. */
const offInstead = (efforts: EffortSpellings | undefined): ThinkingPlan =>
  spellEffort(efforts, NONE) === 'disabled' ? { ...OFF, isLost: true } : { state: 'off', isLost: true }

const isEffortWord = (spelling: unknown): boolean =>
  typeof spelling === 'string' && spelling !== 'disabled' && spelling !== 'between_tools'

/** What of a request the server can be asked to keep. */
interface Prompt {
  readonly system: readonly Block[]
  readonly tools: readonly Fields[]
  readonly messages: readonly SettledMessage[]
}

/** The server caches the prompt up to a mark; it accepts four at most. */
const KEPT = { cache_control: { type: 'ephemeral' } }
const MARKS_MAX = 4

/** Whether what the client has marked stays so: too many are taken from the front, because the last ones keep the most. */
const keepsAllMarks = (prompt: Prompt, policy: PromptCache): boolean =>
  policy !== 'off' && markedIn(prompt).length <= MARKS_MAX

/**
 * The prompt with cache marks after what is likely to come again. The client's own marks win; otherwise they go after the tools,
 * after the system, and in a conversation after what this request adds and what the last one added, where the cache is found.
 */
function markCache(prompt: Prompt, policy: PromptCache): Prompt {
  const { system, tools, messages } = prompt
  const marked = markedIn(prompt)
  if (marked.length > 0) return withoutMarks(prompt, policy === 'off' ? marked : marked.slice(0, -MARKS_MAX))
  if (policy === 'off' || policy === 'client') return prompt
  const begun = { system: withLastMarked(system), tools: withLastMarked(tools), messages }
  return policy === 'system' ? begun : { ...begun, messages: withTurnsMarked(messages) }
}

const markedIn = ({ tools, system, messages }: Prompt): Fields[] =>
  [...tools, ...system, ...messages.flatMap(({ content }) => content)].filter(
    ({ cache_control: mark }) => mark !== undefined,
  )

function withoutMarks(prompt: Prompt, pieces: readonly Fields[]): Prompt {
  if (pieces.length === 0) return prompt
  const dropped = new Set(pieces)
  const strip = <Piece extends Fields>(all: readonly Piece[]): Piece[] =>
    all.map((piece) => (dropped.has(piece) ? { ...piece, cache_control: undefined } : piece))
  return {
    system: strip(prompt.system),
    tools: strip(prompt.tools),
    messages: prompt.messages.map((message) => ({ ...message, content: strip(message.content) })),
  }
}

const withLastMarked = <Piece extends Fields>(pieces: readonly Piece[]): readonly Piece[] =>
  pieces.map((piece, at) => (at === pieces.length - 1 ? { ...piece, ...KEPT } : piece))

const TURNS_MARKED = 2

function withTurnsMarked(messages: readonly SettledMessage[]): readonly SettledMessage[] {
  const places = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-TURNS_MARKED)
  return messages.map((message, at) =>
    places.includes(at) ? { ...message, content: withLastMarked(message.content) } : message,
  )
}
