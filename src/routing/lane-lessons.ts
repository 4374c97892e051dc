import { createLruMap } from '../lib/lru-map.ts'
import { namedField, type ProviderError } from '../wire/read-provider-error.ts'

/**
 * What lanes have taught us by refusing: fields that their server does not take. Learned from its own 400, remembered per
 * lane, forgotten with the process; the next request does not have to be refused first.
 */
export interface LaneLessons {
  /** The dialect as this lane really speaks it. */
  dialectOf<Dialect extends TeachableDialect>(lane: string, dialect: Dialect): Dialect
  /** Learns from a refusal. True when there was something new in it, so that trying the same lane again makes sense. */
  learn(lane: string, dialect: TeachableDialect, error: ProviderError): boolean
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
const FIELDS_MAX = 32

/** Without these there is no request, or an answer to another one. */
const NEVER_LEFT_OUT = new Set([
  ...['model', 'messages', 'input', 'stream', 'tools', 'tool_choice', 'response_format', 'text', 'n'],
  // A provider that may not store what it is sent, or not produce more than is held, has to understand that it may not.
  ...['store', 'max_output_tokens', 'previous_response_id'],
])

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

export function createLaneLessons(): LaneLessons {
  const lessons = createLruMap<string, Learned>(LANES_MAX)
  const of = (lane: string): Learned => lessons.get(lane) ?? NOTHING
  return {
    dialectOf(lane, dialect) {
      const learned = lessons.get(lane)
      if (learned === undefined) return dialect
      return {
        ...dialect,
        ...(learned.capField === undefined ? {} : { capField: learned.capField }),
        ...(learned.compacts ? {} : { compacts: false }),
        ...(learned.without.has('stream_options') ? { usageOption: false } : {}),
        withoutFields: [...dialect.withoutFields, ...learned.without],
      }
    },
    learnNoCompaction: (lane) => lessons.set(lane, { ...of(lane), compacts: false }),
    learn(lane, dialect, error) {
      const field = (error.param ?? namedField(error.message))?.split(/[.[]/)[0]
      const learned = of(lane)
      // One client's value says nothing about the field.
      if (error.code === 'unsupported_value') return false
      if (field === undefined || NEVER_LEFT_OUT.has(field) || learned.without.has(field)) return false
      if (field === 'max_tokens' || field === 'max_completion_tokens') {
        // A cap is renamed, never left out: the hold covers what the cap allows. Refused under both names, the lane is not for us.
        const capField = learned.capField ?? dialect.capField
        if (field !== capField || learned.capField !== undefined) return false
        lessons.set(lane, { ...learned, capField: OTHER_CAP[field] })
        return true
      }
      if (learned.without.size >= FIELDS_MAX) return false
      lessons.set(lane, { ...learned, without: new Set([...learned.without, field]) })
      return true
    },
  }
}
