import type { Fields } from '../../lib/types.ts'
import type { ConversationItem, Sampling } from '../../model/conversation.ts'
import type { Effort, ModelTraits, PromptCache } from '../../model/effort.ts'
import type { Delivery, Demand, Protocol, TurnRequest } from '../../model/turn.ts'
import { writtenMember } from '../json/bytes.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import { parseInPieces } from '../json/in-pieces.ts'
import type { ToolNames } from '../tools/tool-names.ts'

/** What a lane is told besides what its client says, whichever way the request goes. */
export interface LaneTarget<Dialect> {
  readonly model: string
  /** Whose seals it can open. */
  readonly origin: string
  readonly effort: Effort | undefined
  /** The cap that the hold covers: never more than what admission granted. */
  readonly outputCap: number
  readonly dialect: Dialect
  readonly delivery: Delivery
  /** What of the prompt the provider shall keep, where it has to be asked to. */
  readonly promptCache: PromptCache
  readonly cacheSalt: CacheSalt
  /** The protocol of the client, in whose words it is told what its lane does not get. */
  readonly client: Protocol
}

/** The same where the client's own request goes to a lane that speaks its language. */
export interface RelayTarget<Dialect> extends Omit<LaneTarget<Dialect>, 'promptCache' | 'client'> {
  /** Fields that the operator lets pass, whether the server is known to understand them or not. */
  readonly passFields: readonly string[]
}

/** A request in a lane's words: the client's own, retargeted, or a conversation that was written down. */
export interface LaneRequest {
  readonly body: Buffer
  /** What of the request this lane does not get, by the names that the client knows. */
  readonly leftOut: readonly string[]
}

/** A conversation in a lane's words. */
export interface WrittenRequest extends Pick<LaneRequest, 'leftOut'> {
  /** As JSON takes it: what has no value is not in it. */
  readonly body: Fields
  /** It carries the client's cache marks. */
  readonly keepsMarks?: boolean
  /** For the way back. */
  readonly tools: ToolNames
  /** The name of the tool whose input is the answer, where the lane keeps to a schema only in that way. */
  readonly answerTool?: string | undefined
}

/** Of an account: see `createCacheSalts`. Undefined where nobody's words are sent. */
export type CacheSalt = string | undefined

interface SaltedTarget {
  readonly dialect: DialectTraits
  readonly cacheSalt: CacheSalt
}

/** The salt under the name that the server has for it, instead of whatever the client has written there. */
export const saltFields = ({ dialect: { cacheSaltField }, cacheSalt }: SaltedTarget): Fields =>
  cacheSaltField === undefined || cacheSalt === undefined ? {} : { [cacheSaltField]: cacheSalt }

/** What the dialects of every wire say, for those who need not know which wire it is. */
export interface DialectTraits {
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
export function withTraits<Dialect extends DialectTraits>(dialect: Dialect, own: KnownTraits): Dialect {
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

function traitsOfVersion({ versions = [] }: DialectTraits, apiVersion: string | undefined): Partial<ModelTraits> {
  const since = apiVersion === undefined ? [] : versions.filter(({ from }) => apiVersion >= from)
  return Object.assign({}, ...since.map(({ traits }) => traits))
}

/** Finds the row of a dialect, by its name or another one of it; a name that no row has speaks the protocol plainly. */
export function dialectByName<Dialect extends DialectTraits>(
  rows: readonly Dialect[],
  plain: Dialect,
): (name: string) => Dialect {
  const byName = new Map(rows.flatMap((row) => [row.name, ...row.aliases].map((name) => [name, row] as const)))
  return (name) => byName.get(name) ?? plain
}

/** Of what a conversation may ask for, with the name that its client has for each: the names of what it does ask for. */
export const requestedNames = (settings: readonly (readonly [name: string, isAsked: boolean])[]): string[] =>
  settings.flatMap(([name, isAsked]) => (isAsked ? [name] : []))

/** Zero is no penalty: who knows none shall not seem to have lost one. */
export const unlessZero = (penalty: number | undefined): number | undefined => (penalty === 0 ? undefined : penalty)

export const hasBias = ({ logitBias }: Sampling): boolean =>
  logitBias !== undefined && Object.keys(logitBias).length > 0

/** It says by name who speaks. */
export const isNamed = (item: ConversationItem): boolean => item.type === 'message' && item.name !== undefined

/** Of the cap, so that there is room for the answer. */
const THINKING_SHARE = 3 / 4

/** Servers refuse to think with fewer tokens than this. */
export const BUDGET_MIN = 1024

/**
 * Tokens to think with under an output cap: what is thought is part of the answer, and the cap is never raised for it.
 * Undefined where the cap leaves fewer than `least` of them, unless no more were asked for.
 */
export function budgetWithin(asked: number, outputCap: number, least = BUDGET_MIN): number | undefined {
  const budget = Math.min(asked, Math.floor(outputCap * THINKING_SHARE))
  return budget < Math.min(asked, least) ? undefined : budget
}

/** Fields with schemas, whose numbers have to keep their digits. In other settings only the value counts. */
const SCHEMAS = ['tools', 'functions', 'response_format', 'text']
/** Lists that contain schemas, or arguments as objects, only if one of these strings occurs in them. */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  input: ['"additional_tools"'],
  messages: ['"arguments":{', '"arguments": {'],
}

/** The fields of a request, with each number marked that would change on its way to a provider. */
export async function withExactNumbers(request: TurnRequest, fields: Fields): Promise<Fields> {
  const exact = { ...fields }
  for (const name of [...SCHEMAS, ...Object.keys(LISTS)]) {
    const bytes = writtenMember(request, name)
    if (bytes === undefined || !(LISTS[name]?.some((word) => bytes.includes(word)) ?? true)) continue
    const marked = markNumbers(bytes)
    if (marked !== bytes) exact[name] = await parseInPieces(marked)
  }
  return exact
}
