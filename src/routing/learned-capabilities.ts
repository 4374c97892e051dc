import type { Lane } from '../catalog/catalog.ts'
import { createLruMap } from '../lib/collections.ts'
import { codecs, type LaneDialect } from '../protocols/codecs.ts'
import { type ProviderError, refusedField } from '../protocols/refusals/provider-error.ts'

/**
 * What lanes have taught us by refusing: fields that their server does not take. Learned from its own 400, remembered per
 * lane, forgotten with the process; the next request does not have to be refused first.
 *
 * Lanes serve everybody, so no client may teach us anything about them that is only true of its own request: fields that
 * our writers write are remembered (`LEARNABLE_FIELDS`), what else it has sent is left out for that one turn, and what
 * would make another request of it is never left out.
 */
export interface LearnedCapabilities {
  /** The dialect as this lane really speaks it. */
  dialectOf<Dialect extends TeachableDialect>(lane: string, dialect: Dialect): Dialect
  /** Learns from a refusal. True when there was something new in it, so that trying the same lane again makes sense. */
  learn(lane: string, dialect: TeachableDialect, error: ProviderError): boolean
  /**
   * What is left out this once, and not remembered: fields that only this client has sent, and wishes that may not hold what
   * they held.
   */
  droppedOnce(dialect: TeachableDialect, error: ProviderError): readonly string[]
  /** The server does not make conversations short by itself. */
  learnNoCompaction(lane: string): void
}

/** What of a dialect a refusal may change. */
export interface TeachableDialect {
  readonly withoutFields: readonly string[]
  /** Where the server may know the cap under another name. */
  readonly capField?: CapField
  readonly usageOption?: boolean
  readonly compacts?: boolean
}

const LANES_MAX = 1000

/**
 * Fields that our own writers put into requests, by the names of all wires: only of these may a lane's refusal be held
 * against the lane. A field that only a client knows (one that it made up, or that `pass_fields` lets through) says
 * nothing about the requests of others, and clients could make up as many as they like.
 */
const LEARNABLE_FIELDS: ReadonlySet<string> = new Set([
  // How words are chosen.
  ...['temperature', 'top_p', 'topP', 'seed', 'random_seed', 'logit_bias', 'logprobs', 'top_logprobs'],
  ...['presence_penalty', 'presencePenalty', 'frequency_penalty', 'frequencyPenalty', 'responseLogprobs'],
  // How much is thought, and what is told of that.
  ...['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget', 'chat_template_kwargs'],
  ...['output_config', 'thinkingConfig', 'include', 'verbosity'],
  // For whom it is, and what of it is kept.
  ...['user', 'safety_identifier', 'metadata', 'prompt_cache_key', 'cache_control'],
  // How it is delivered, and how long it may be.
  ...['stream_options', 'parallel_tool_calls', 'max_tokens', 'max_completion_tokens'],
])

/** Without these there is no request, or an answer to another one. Names of all wires: a field is what it is called. */
const NEVER_LEFT_OUT = new Set([
  ...['model', 'messages', 'input', 'stream', 'tools', 'tool_choice', 'response_format', 'text', 'n'],
  ...['instructions', 'system', 'stop', 'stop_sequences', 'functions', 'function_call'],
  ...['contents', 'systemInstruction', 'system_instruction', 'toolConfig', 'tool_config', 'stopSequences'],
  ...['generationConfig', 'generation_config', 'candidateCount'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema'],
  // A provider that may not store what it is sent, or not produce more than is held, has to understand that it may not.
  ...['store', 'max_output_tokens', 'maxOutputTokens', 'previous_response_id'],
  // Without its salt an account could measure what others have sent.
  ...['cache_salt', 'prompt_cache_isolation_key'],
])

/**
 * How much a model shall think is a wish, and its effort may be spelled otherwise than this model wants it. What else a
 * client has written is done as it says, or the client hears why not.
 */
const WISHES = new Set(['thinking', 'output_config', 'thinkingConfig'])

type CapField = 'max_tokens' | 'max_completion_tokens'
const OTHER_CAP: Readonly<Record<CapField, CapField>> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
}

interface Learned {
  readonly without: ReadonlySet<string>
  readonly capField: CapField | undefined
  readonly compacts: boolean
}

const NOTHING: Learned = { without: new Set(), capField: undefined, compacts: true }

export function createLearnedCapabilities(): LearnedCapabilities {
  const capabilities = createLruMap<string, Learned>(LANES_MAX)
  const of = (lane: string): Learned => capabilities.get(lane) ?? NOTHING
  return {
    dialectOf(lane, dialect) {
      const learned = capabilities.get(lane)
      if (learned === undefined) return dialect
      return {
        ...dialect,
        ...(learned.capField === undefined ? {} : { capField: learned.capField }),
        ...(learned.compacts ? {} : { compacts: false }),
        ...(learned.without.has('stream_options') ? { usageOption: false } : {}),
        withoutFields: [...dialect.withoutFields, ...learned.without],
      }
    },
    learnNoCompaction: (lane) => capabilities.set(lane, { ...of(lane), compacts: false }),
    learn(lane, dialect, error) {
      const refused = refusedField(error)
      const learned = of(lane)
      // One client's value says nothing about the field.
      if (refused === undefined || refused.onlyValue) return false
      const fields = refused.names.filter((name) => LEARNABLE_FIELDS.has(name) && !learned.without.has(name))
      const [field] = fields
      if (field === undefined || refused.names.some((name) => NEVER_LEFT_OUT.has(name))) return false
      if (field === 'max_tokens' || field === 'max_completion_tokens') {
        // A cap is renamed, never left out: the hold covers what the cap allows. Refused under both names, the lane is not for us.
        const capField = learned.capField ?? dialect.capField
        if (field !== capField || learned.capField !== undefined) return false
        capabilities.set(lane, { ...learned, capField: OTHER_CAP[field] })
        return true
      }
      capabilities.set(lane, { ...learned, without: new Set([...learned.without, ...fields]) })
      return true
    },
    droppedOnce({ withoutFields }, error) {
      const { names = [], onlyValue = false } = refusedField(error) ?? {}
      if (names.some((name) => NEVER_LEFT_OUT.has(name))) return []
      const mayGo = (name: string): boolean => (onlyValue ? WISHES.has(name) : !LEARNABLE_FIELDS.has(name))
      return names.filter((name) => mayGo(name) && !withoutFields.includes(name))
    },
  }
}

/** Lanes live as long as the configuration that names them. */
const dialects = new WeakMap<Lane, LaneDialect>()

/** A lane's language, as its model wants to be spoken to. */
export function laneDialect(lane: Lane): LaneDialect {
  const known = dialects.get(lane)
  if (known !== undefined) return known
  const { upstream, traits } = lane
  const { apiVersion } = upstream
  const dialect = codecs.dialect(upstream.wire, upstream.dialect, { traits, apiVersion })
  dialects.set(lane, dialect)
  return dialect
}

/** A cap as the lane takes it: no less than its server's least. */
export const capOn = (lane: Lane, asked: number): number => Math.max(asked, laneDialect(lane).outputTokensMin ?? 0)
