import type { Fields } from '../../lib/is-object.ts'
import type { Conversation } from '../../model/conversation.ts'
import type { Protocol } from '../../model/turn.ts'
import { hasBias, namesOfAsked, unlessZero } from '../asked-settings.ts'
import { clientName } from '../client-names.ts'
import type { AnthropicDialect } from './dialects.ts'

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
export function writeSettings(conversation: Conversation, lane: SettingsLane): WrittenSettings {
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
  namesOfAsked([
    ['presence_penalty', unlessZero(sampling.presencePenalty) !== undefined],
    ['frequency_penalty', unlessZero(sampling.frequencyPenalty) !== undefined],
    ['seed', sampling.seed !== undefined],
    ['logit_bias', hasBias(sampling)],
    [clientName('logprobs', client), sampling.topLogprobs !== undefined],
    ['top_logprobs', (sampling.topLogprobs ?? 0) > 0],
    [clientName('verbosity', client), verbosity !== undefined],
    ['prompt_cache_key', identity.promptCacheKey !== undefined],
  ])
