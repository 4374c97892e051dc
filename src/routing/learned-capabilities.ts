import type { Lane } from '../catalog/catalog.ts'
import { createLruMap } from '../lib/collections.ts'
import { PRICED_FIELDS } from '../model/price.ts'
import { type ProviderError, refusedField } from '../protocols/refusals/provider-error.ts'
import { codecs, type LaneDialect } from '../protocols/wires.ts'

/**
 * The fields that a lane's server does not accept, learned from its own 400 and kept in memory, so that the next request is not
 * refused first.
 *
 * Lanes serve all clients, and a server may refuse a field beside one effort or one other field only. So only fields that Millrace
 * itself adds to requests are learned for good (`LEARNABLE_FIELDS`). Fields that many clients send (`CLIENT_FIELDS`) are left out
 * for some minutes, beside the same effort only; any other is left out of that one turn. Fields that define the request are never
 * left out.
 */
export interface LearnedCapabilities {
  /** The dialect as this lane accepts it. */
  dialectOf(lane: Lane): LaneDialect
  /** Learns from a refusal. True when something new was learned, so that the lane is worth another call. */
  learn(lane: string, dialect: TeachableDialect, error: ProviderError): boolean
  /**
   * The fields to leave out of this turn: those that a client sends, and optional wishes with a refused value. Refused fields of
   * many clients are remembered for the lane and the effort.
   */
  droppedOnce(dialect: TeachableDialect, error: ProviderError, asked?: Asked): readonly string[]
  /** Fields of clients that the lane has refused lately beside this effort. */
  refusedLately(asked: Asked): readonly string[]
  /** The server has no compaction of its own. */
  learnNoCompaction(lane: string): void
}

interface Asked {
  readonly lane: string
  readonly effort: string | undefined
}

/** The part of a dialect that a refusal may change. */
export interface TeachableDialect {
  readonly withoutFields: readonly string[]
  /** The server may have another name for the cap. */
  readonly capField?: CapField
  readonly usageOption?: boolean
  readonly compacts?: boolean
}

const LANES_MAX = 1000

/** After this time the lane is asked with the field again. */
const REFUSED_MICROS = 5 * 60_000_000

/** Fields of many clients that an answer can do without, by the names of all wires. */
const CLIENT_FIELDS: ReadonlySet<string> = new Set([
  ...['temperature', 'top_p', 'topP', 'seed', 'random_seed', 'logit_bias', 'logprobs', 'top_logprobs'],
  ...['presence_penalty', 'presencePenalty', 'frequency_penalty', 'frequencyPenalty', 'responseLogprobs'],
  ...['reasoning_effort', 'reasoning', 'thinking', 'enable_thinking', 'thinking_budget', 'chat_template_kwargs'],
  ...['output_config', 'thinkingConfig', 'verbosity', 'parallel_tool_calls'],
  ...['user', 'safety_identifier', 'metadata', 'prompt_cache_key'],
])

/** Fields that Millrace adds to requests, also where their clients do not send them, by the names of all wires. */
const LEARNABLE_FIELDS: ReadonlySet<string> = new Set([
  ...['stream_options', 'max_tokens', 'max_completion_tokens'],
  // Caches and reasoning that the provider sealed.
  ...['cache_control', 'block_binding', 'include'],
])

/** Without one of these the request would be another one. By the names of all wires. */
const NEVER_LEFT_OUT = new Set<string>([
  // Their price would be charged.
  ...PRICED_FIELDS,
  ...['model', 'messages', 'input', 'stream', 'tools', 'tool_choice', 'response_format', 'text', 'n'],
  ...['instructions', 'system', 'stop', 'stop_sequences', 'functions', 'function_call'],
  ...['contents', 'systemInstruction', 'system_instruction', 'toolConfig', 'tool_config', 'stopSequences'],
  ...['generationConfig', 'generation_config', 'candidateCount'],
  ...['responseMimeType', 'responseSchema', 'responseJsonSchema'],
  // Limits on what the provider may store and produce.
  ...['store', 'max_output_tokens', 'maxOutputTokens', 'previous_response_id'],
  // Without its salt an account could measure what others have sent.
  ...['cache_salt', 'prompt_cache_isolation_key'],
])

/** The effort is a wish, and a model may want it in another spelling. Any other refused value is the client's to fix. */
const WISHES = new Set(['thinking', 'output_config', 'thinkingConfig'])

type CapField = 'max_tokens' | 'max_completion_tokens'
const OTHER_CAP: Readonly<Record<CapField, CapField>> = {
  max_tokens: 'max_completion_tokens',
  max_completion_tokens: 'max_tokens',
}

const NO_FIELDS: readonly string[] = []

interface Learned {
  readonly without: ReadonlySet<string>
  readonly capField: CapField | undefined
  readonly compacts: boolean
}

const NOTHING: Learned = { without: new Set(), capField: undefined, compacts: true }

export function createLearnedCapabilities(nowMicros: () => number): LearnedCapabilities {
  const capabilities = createLruMap<string, Learned>(LANES_MAX)
  const refusedAt = createLruMap<string, ReadonlyMap<string, number>>(LANES_MAX)
  const keyOf = ({ lane, effort = '' }: Asked) => `${lane} ${effort}`
  const of = (lane: string): Learned => capabilities.get(lane) ?? NOTHING
  return {
    dialectOf(lane) {
      const dialect = dialects.get(lane) ?? laneDialect(lane)
      const learned = capabilities.get(lane.id)
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
      // A refused value says nothing about the field.
      if (refused === undefined || refused.onlyValue) return false
      const fields = refused.names.filter((name) => LEARNABLE_FIELDS.has(name) && !learned.without.has(name))
      const [field] = fields
      if (field === undefined || refused.names.some((name) => NEVER_LEFT_OUT.has(name))) return false
      if (field === 'max_tokens' || field === 'max_completion_tokens') {
        // The hold covers what the cap allows, so a cap is renamed, never left out. A lane that refuses both names cannot be used.
        const capField = learned.capField ?? dialect.capField
        if (field !== capField || learned.capField !== undefined) return false
        capabilities.set(lane, { ...learned, capField: OTHER_CAP[field] })
        return true
      }
      capabilities.set(lane, { ...learned, without: new Set([...learned.without, ...fields]) })
      return true
    },
    droppedOnce({ withoutFields }, error, asked) {
      const { names = [], onlyValue = false } = refusedField(error) ?? {}
      if (names.some((name) => NEVER_LEFT_OUT.has(name))) return []
      const mayGo = (name: string): boolean => (onlyValue ? WISHES.has(name) : !LEARNABLE_FIELDS.has(name))
      const dropped = names.filter((name) => mayGo(name) && !withoutFields.includes(name))
      const known = onlyValue ? [] : dropped.filter((name) => CLIENT_FIELDS.has(name))
      if (asked !== undefined && known.length > 0) {
        const now = nowMicros()
        refusedAt.set(
          keyOf(asked),
          new Map([...(refusedAt.get(keyOf(asked)) ?? []), ...known.map((name) => [name, now] as const)]),
        )
      }
      return dropped
    },
    refusedLately(asked) {
      const refused = refusedAt.size === 0 ? undefined : refusedAt.get(keyOf(asked))
      if (refused === undefined) return NO_FIELDS
      const since = nowMicros() - REFUSED_MICROS
      return [...refused].flatMap(([name, at]) => (at > since ? [name] : []))
    },
  }
}

/** A lane object lives as long as the configuration that names it. */
const dialects = new WeakMap<Lane, LaneDialect>()

/** The dialect of a lane, with the traits of its model. */
export function laneDialect(lane: Lane): LaneDialect {
  const known = dialects.get(lane)
  if (known !== undefined) return known
  const { upstream, traits } = lane
  const { apiVersion } = upstream
  const dialect = codecs.dialect(upstream.wire, upstream.dialect, { traits, apiVersion })
  dialects.set(lane, dialect)
  return dialect
}

/** The cap as the lane accepts it: at least its server's minimum. */
export const capOn = (lane: Lane, cap: number): number => Math.max(cap, laneDialect(lane).outputTokensMin ?? 0)
