import type { Fields } from '../../lib/types.ts'
import type { ConversationItem, Sampling } from '../../model/conversation.ts'
import type { Effort, ModelTraits, PromptCache } from '../../model/effort.ts'
import { PRICED_FIELDS, type PricedField, type PricedValues } from '../../model/price.ts'
import type { Delivery, Demand, Protocol, TurnRequest } from '../../model/turn.ts'
import { writtenMember } from '../json/bytes.ts'
import { markNumbers } from '../json/exact-numbers.ts'
import { parseInPieces } from '../json/in-pieces.ts'
import type { ToolNames } from '../tools/tool-names.ts'

/** What a request to a lane needs besides what the client has sent. */
export interface LaneTarget<Dialect> {
  readonly model: string
  /** The origin whose seals it can open. */
  readonly origin: string
  readonly effort: Effort | undefined
  /** The cap that the hold covers: never more than what admission granted. */
  readonly outputCap: number
  readonly dialect: Dialect
  readonly delivery: Delivery
  /** Which parts of the prompt the provider is asked to cache. */
  readonly promptCache: PromptCache
  /** The provider is told to leave thinking out that is bound to another prefix. */
  readonly dropsUnbound?: boolean
  readonly cacheSalt: CacheSalt
  /** What the client asked for that changes the price; the lane offers all of it. */
  readonly priced?: PricedValues | undefined
  /** The protocol of the client, whose names are used for what the lane does not get. */
  readonly client: Protocol
}

/** The same where the client's own request goes to a lane of the same protocol. */
export interface RelayTarget<Dialect> extends Omit<LaneTarget<Dialect>, 'promptCache' | 'dropsUnbound' | 'client'> {
  /** Fields that the operator passes on, whether the server is known to understand them or not. */
  readonly passFields: readonly string[]
}

/** A request in a lane's protocol: the client's own, rewritten, or a written conversation. */
export interface LaneRequest {
  readonly body: Buffer
  /** What this lane does not get of the request, by the names that the client knows. */
  readonly leftOut: readonly string[]
}

export interface WrittenRequest extends Pick<LaneRequest, 'leftOut'> {
  /** Members without a value are not in the JSON. */
  readonly body: Fields
  /** It carries the client's cache marks. */
  readonly keepsMarks?: boolean
  /** Translates the tool names of the answer. */
  readonly tools: ToolNames
  /** The tool whose input is the answer, where the lane enforces a schema only in that way. */
  readonly answerTool?: string | undefined
}

/** One per account: see `createCacheSalts`. Undefined where no client content is sent. */
export type CacheSalt = string | undefined

/** The salt under the server's name for it, instead of whatever the client has sent there. */
export const saltFields = ({
  dialect: { cacheSaltField },
  cacheSalt,
}: Pick<LaneTarget<DialectTraits>, 'dialect' | 'cacheSalt'>): Fields =>
  cacheSaltField === undefined || cacheSalt === undefined ? {} : { [cacheSaltField]: cacheSalt }

/** The columns that the dialects of every wire have. */
export interface DialectTraits {
  readonly name: string
  /** Other names that the configuration accepts for it. */
  readonly aliases: readonly string[]
  /** Standard fields that the server refuses or does not know: they are left out and named to the client. */
  readonly withoutFields: readonly string[]
  /** Reasoning is counted and not sent, or not all of it: the size of a stream shows little of its cost. */
  readonly hidesReasoning: boolean
  /** Demands that the protocol cannot express and that would make another answer if they were left out. */
  readonly cannot: readonly Demand[]
  /**
   * The values that change the price and that the server knows: any value as it is, or values with the server's own word for each.
   * A lane without the field does not get such a request.
   */
  readonly pricedValues: Readonly<Partial<Record<PricedField, 'any' | Readonly<Record<string, string>>>>>
  /** The smallest output cap that the server accepts. A smaller one is raised to it, and the hold covers that. */
  readonly outputTokensMin?: number
  /** For a model of which nothing else is known. */
  readonly traits: ModelTraits
  /** What versions of the interface have changed, where a header names the version. */
  readonly versions?: readonly { readonly from: string; readonly traits: Partial<ModelTraits> }[]
  /** Caches only the parts of a prompt that it is asked to cache; others decide themselves. */
  readonly keepsOnDemand?: boolean
  /** The field of a salt for the prompt cache: prompts with different salts share nothing. */
  readonly cacheSaltField?: string
  /** The sources of the row. */
  readonly source: string
}

/** The first field whose value a server does not offer. */
export const refusedValue = (
  { pricedValues, withoutFields }: Pick<DialectTraits, 'pricedValues' | 'withoutFields'>,
  asked: PricedValues,
): PricedField | undefined =>
  PRICED_FIELDS.find(
    (field) =>
      asked[field] !== undefined &&
      (withoutFields.includes(field) || sentValue(pricedValues, field, asked) === undefined),
  )

function sentValue(
  known: DialectTraits['pricedValues'],
  field: PricedField,
  { [field]: value = '' }: PricedValues,
): string | undefined {
  const values = known[field]
  return values === 'any' ? value : values?.[value]
}

/** What changes the price, in a request that was translated. Every wire has these fields at the top. */
export const pricedFields = ({
  dialect: { pricedValues },
  priced = {},
}: Pick<LaneTarget<DialectTraits>, 'dialect' | 'priced'>): Fields =>
  Object.fromEntries(
    PRICED_FIELDS.flatMap((field) =>
      priced[field] === undefined ? [] : [[field, sentValue(pricedValues, field, priced)] as const],
    ),
  )

/** Models without sampling refuse all of these. */
const SAMPLING_FIELDS = [
  ...['temperature', 'top_p', 'top_k', 'presence_penalty', 'frequency_penalty'],
  ...['logprobs', 'top_logprobs', 'logit_bias'],
]

/** The dialect for one model. */
export function withTraits<Dialect extends DialectTraits>(dialect: Dialect, own: KnownTraits): Dialect {
  const { withoutFields, cannot, versions = [] } = dialect
  const { apiVersion } = own
  const since = apiVersion === undefined ? [] : versions.filter(({ from }) => apiVersion >= from)
  let traits: ModelTraits = { ...dialect.traits, ...own.traits }
  for (const version of since) traits = { ...traits, ...version.traits }
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

/** What is known of a model, and the version of the interface. */
export interface KnownTraits {
  readonly traits?: Partial<ModelTraits>
  readonly apiVersion?: string | undefined
}

/** Finds the row of a dialect by its name or an alias; an unknown name gives the plain protocol. */
export function dialectByName<Dialect extends DialectTraits>(
  rows: readonly Dialect[],
  plain: Dialect,
): (name: string) => Dialect {
  const byName = new Map(rows.flatMap((row) => [row.name, ...row.aliases].map((name) => [name, row] as const)))
  return (name) => byName.get(name) ?? plain
}

/** The names of the settings that a conversation requests. */
export const requestedNames = (settings: readonly (readonly [name: string, isRequested: boolean])[]): string[] =>
  settings.flatMap(([name, isRequested]) => (isRequested ? [name] : []))

/** Zero is no penalty, so a lane without penalties loses nothing. */
export const unlessZero = (penalty: number | undefined): number | undefined => (penalty === 0 ? undefined : penalty)

export const hasBias = ({ logitBias }: Sampling): boolean =>
  logitBias !== undefined && Object.keys(logitBias).length > 0

export const isNamed = (item: ConversationItem): boolean => item.type === 'message' && item.name !== undefined

/** The share of the cap for thinking, so that there is room for the answer. */
const THINKING_SHARE = 3 / 4

/** Servers refuse to think with fewer tokens than this. */
export const BUDGET_MIN = 1024

/**
 * A thinking budget under an output cap: thinking is part of the answer, and the cap is never raised for it.
 * Undefined where the cap leaves fewer than `least` tokens, unless no more were requested.
 */
export function budgetWithin(requested: number, outputCap: number, least = BUDGET_MIN): number | undefined {
  const budget = Math.min(requested, Math.floor(outputCap * THINKING_SHARE))
  return budget < Math.min(requested, least) ? undefined : budget
}

interface MarkedField {
  readonly name: string
  /** The field has schemas, or arguments as objects, only if one of these strings occurs in it. */
  readonly signs?: readonly string[]
}

/** Fields with schemas, whose numbers have to keep their digits. In other settings only the value counts. */
const MARKED_FIELDS: readonly MarkedField[] = [
  { name: 'tools' },
  { name: 'functions' },
  { name: 'response_format' },
  { name: 'text' },
  { name: 'input', signs: ['"additional_tools"'] },
  { name: 'messages', signs: ['"arguments":{', '"arguments": {'] },
]

/** The fields of a request, with each number marked that would change on its way to a provider. */
export async function withExactNumbers(request: TurnRequest, fields: Fields): Promise<Fields> {
  const exact = { ...fields }
  for (const { name, signs } of MARKED_FIELDS) {
    const bytes = writtenMember(request, name)
    if (bytes === undefined || (signs !== undefined && !signs.some((sign) => bytes.includes(sign)))) continue
    const marked = markNumbers(bytes)
    if (marked !== bytes) exact[name] = await parseInPieces(marked)
  }
  return exact
}
