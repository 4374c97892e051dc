import type { Fields } from '../../lib/types.ts'
import type { Conversation } from '../../model/conversation.ts'
import { effortOf, type PromptCache, spellEffort } from '../../model/effort.ts'
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
  type Message,
  settleMessages,
  textBlocks,
  writeMessages,
} from './write-messages.ts'
import { planFormat, writeTools } from './write-tools.ts'

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
  const takesOutput = !dialect.withoutFields.includes('output_config')
  const output = {
    ...(plan.effort !== undefined && takesOutput ? { effort: plan.effort } : {}),
    ...(format.kind === 'held' ? { format: { type: 'json_schema', schema: format.schema } } : {}),
  }
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
    ...(Object.keys(output).length === 0 ? {} : { output_config: output }),
    ...(target.dropsUnbound === true && !dialect.withoutFields.includes('block_binding') ? DROPS_UNBOUND : {}),
  }
  const isEffortLost = plan.isLost || (plan.effort !== undefined && !takesOutput)
  const lostEffort = isEffortLost ? [clientName('effort', client)] : []
  return {
    body,
    leftOut: [...new Set([...draft.leftOut, ...settings.leftOut, ...lostEffort])],
    keepsMarks: caching !== 'off' && markedIn(unmarked).length <= MARKS_MAX,
    tools: names,
    answerTool,
  }
}

const DROPS_UNBOUND = { block_binding: { prefix_mismatch_behavior: 'drop_block' } }

/** A Chat client cannot request a summary; it gets one where it has requested an effort. */
const wantsSummary = ({ reasoning }: Conversation, { client, effort }: LaneTarget<AnthropicDialect>): boolean =>
  client === 'responses' ? reasoning.summary !== undefined : effort !== undefined

interface WrittenSettings {
  readonly fields: Fields
  readonly leftOut: readonly string[]
}

interface SettingsLane {
  readonly dialect: AnthropicDialect
  readonly client: Protocol
  readonly isThinking: boolean
}

/** Sampling, stop sequences and the user. */
function writeSettings(conversation: Conversation, lane: SettingsLane): WrittenSettings {
  const { sampling, verbosity, identity } = conversation
  const written = [writeSampling(conversation, lane), writeStop(conversation, lane), writeUser(conversation, lane)]
  const withoutCounterpart = requestedNames([
    ['presence_penalty', unlessZero(sampling.presencePenalty) !== undefined],
    ['frequency_penalty', unlessZero(sampling.frequencyPenalty) !== undefined],
    ['seed', sampling.seed !== undefined],
    ['logit_bias', hasBias(sampling)],
    [clientName('logprobs', lane.client), sampling.topLogprobs !== undefined],
    ['top_logprobs', (sampling.topLogprobs ?? 0) > 0],
    [clientName('verbosity', lane.client), verbosity !== undefined],
    ['prompt_cache_key', identity.promptCacheKey !== undefined],
  ])
  return {
    fields: Object.assign({}, ...written.map(({ fields }) => fields)),
    leftOut: [...written.flatMap(({ leftOut }) => leftOut), ...withoutCounterpart],
  }
}

const takes = ({ dialect }: SettingsLane, field: string): boolean => !dialect.withoutFields.includes(field)

/** The least that a thinking model takes. */
const TOP_P_THINKING_MIN = 0.95

/** Clients have temperatures to 2, the server to 1. It takes one of the two settings, and hardly any for a model that thinks. */
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

/** A stop sequence of nothing but spaces is refused. */
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

interface ThinkingPlan {
  readonly thinking?: Fields
  readonly effort?: string
  /** `unsaid`: the request does not mention thinking. */
  readonly state: 'on' | 'off' | 'unsaid'
  /** The requested effort cannot be had in this request. */
  readonly isLost: boolean
}

/** What decides the plan, besides the effort. */
interface ThinkingCase {
  readonly target: Pick<LaneTarget<AnthropicDialect>, 'effort' | 'dialect' | 'outputCap'>
  readonly wantsSummary: boolean
  /** The model has to call a tool now. */
  readonly isForced: boolean
  /** The tool loop that the model continues began without its own thinking. */
  readonly isForeign: boolean
}

const UNSAID: ThinkingPlan = { state: 'unsaid', isLost: false }
const OFF = { thinking: { type: 'disabled' }, state: 'off' } as const
const NONE = effortOf('none')

function planThinking({ target, wantsSummary, isForced, isForeign }: ThinkingCase): ThinkingPlan {
  const { effort, dialect, outputCap } = target
  const { efforts } = dialect.traits
  if (dialect.withoutFields.includes('thinking')) return { ...UNSAID, isLost: effort !== undefined }
  const shown = wantsSummary && dialect.thinkingDisplay ? { display: 'summarized' } : {}
  if (effort === undefined) {
    // Such a model decides itself how long it thinks.
    const decidesItself = Object.values(efforts ?? {}).some(
      (spelling) => typeof spelling === 'string' && spelling !== 'disabled' && spelling !== 'between_tools',
    )
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
  // The server refuses a budget together with any of these. Some models cannot be told not to think.
  if (budget === undefined || isForced || isForeign) {
    return spellEffort(efforts, NONE) === 'disabled' ? { ...OFF, isLost: true } : { state: 'off', isLost: true }
  }
  return { thinking: { type: 'enabled', budget_tokens: budget, ...shown }, state: 'on', isLost: false }
}

/** The parts of a request that the server can cache. */
interface Prompt {
  readonly system: readonly Block[]
  readonly tools: readonly Fields[]
  readonly messages: readonly Message[]
}

/** The server caches the prompt up to a mark; it accepts four at most. */
const KEPT = { cache_control: { type: 'ephemeral' } }
const MARKS_MAX = 4

/**
 * The prompt with cache marks after what is likely to come again. The client's own marks win, of which the last ones keep the
 * most. Else marks go after the tools, after the system, and in a conversation after the last two user messages: the next request
 * finds the cache there.
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

function withTurnsMarked(messages: readonly Message[]): readonly Message[] {
  const places = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : [])).slice(-TURNS_MARKED)
  return messages.map((message, at) =>
    places.includes(at) ? { ...message, content: withLastMarked(message.content) } : message,
  )
}
