import type { ModelTraits } from '../model/model-traits.ts'
import type { Demand } from '../model/turn.ts'

/** What the dialects of every wire say, for those who need not know which wire it is. */
export interface LaneManners {
  readonly name: string
  /** Other names that the configuration accepts for it. */
  readonly aliases: readonly string[]
  /** Standard fields that the server refuses or does not know: they are left out and named to the client. */
  readonly withoutFields: readonly string[]
  /** Reasoning is counted and not sent, or not all of it: what is read of a stream tells little of what it has cost. */
  readonly hidesReasoning: boolean
  /** What the protocol has no words for and would make another answer if it were left out. */
  readonly cannot: readonly Demand[]
  /** The smallest output cap that the server accepts. A smaller one is raised to it, and the hold covers that. */
  readonly outputTokensMin?: number
  /** Of a model of which nothing else is known. */
  readonly traits: ModelTraits
  /** What versions of the interface have changed, where a header names the version that is spoken. */
  readonly versions?: readonly InterfaceVersion[]
  /** Keeps of a prompt what it is asked to keep, and nothing unasked; others see to that themselves. */
  readonly keepsOnDemand?: boolean
  /** Where the server reads a salt for its cache of prompts: those with different salts share nothing. */
  readonly cacheSaltField?: string
  /** What the row rests on. */
  readonly source: string
}

interface InterfaceVersion {
  /** A day, as versions are named. */
  readonly from: string
  /** Of every model since, whatever else is known of it. */
  readonly traits: Partial<ModelTraits>
}

/** What shapes how words are chosen; models that do not take it refuse all of it. */
const SAMPLING_FIELDS = [
  ...['temperature', 'top_p', 'top_k', 'presence_penalty', 'frequency_penalty'],
  ...['logprobs', 'top_logprobs', 'logit_bias'],
]

/** The dialect as it is spoken to one model. */
export function withTraits<Dialect extends LaneManners>(dialect: Dialect, own: KnownTraits): Dialect {
  const traits = { ...dialect.traits, ...own.traits, ...traitsOfVersion(dialect, own.apiVersion) }
  const { withoutFields, cannot } = dialect
  return {
    ...dialect,
    traits,
    withoutFields: traits.sampling ? withoutFields : [...new Set([...withoutFields, ...SAMPLING_FIELDS])],
    cannot: [
      ...cannot,
      ...(traits.forcedToolChoice ? [] : ['tool_choice' as const]),
      ...(traits.jsonSchema === 'none' ? ['response_format' as const] : []),
    ],
  }
}

/** What is known of a model, and of the interface that it is asked through. */
export interface KnownTraits {
  readonly traits?: Partial<ModelTraits>
  readonly apiVersion?: string | undefined
}

function traitsOfVersion({ versions = [] }: LaneManners, apiVersion: string | undefined): Partial<ModelTraits> {
  const since = apiVersion === undefined ? [] : versions.filter(({ from }) => apiVersion >= from)
  return Object.assign({}, ...since.map(({ traits }) => traits))
}

/** Finds the row of a dialect, by its name or another one of it; a name that no row has speaks the protocol plainly. */
export function dialectByName<Dialect extends LaneManners>(
  rows: readonly Dialect[],
  plain: Dialect,
): (name: string) => Dialect {
  const byName = new Map(rows.flatMap((row) => [row.name, ...row.aliases].map((name) => [name, row] as const)))
  return (name) => byName.get(name) ?? plain
}
