import { type NanoUsd, nanoFromPico, type PicoPerToken, picoFromNano } from './money.ts'

/** The price of a token of each class. The catalogue fills in an absent cached or cache-write price with `input`. */
export interface TokenPrices {
  readonly input: PicoPerToken
  readonly cachedInput: PicoPerToken
  readonly cacheWrite: PicoPerToken
  readonly output: PicoPerToken
}

/** Applies to the whole request if its total input is above the threshold. */
interface PriceTier extends TokenPrices {
  readonly aboveInputTokens: number
}

/** One version of a model's price. The hold freezes the version, so that a change has no effect on running turns. */
export interface Price extends TokenPrices {
  readonly version: number
  readonly perRequest: NanoUsd
  /** Sorted by threshold, lowest first. */
  readonly tiers: readonly PriceTier[]
  /** Absent: no field changes the price. */
  readonly multipliers?: Multipliers
}

/** The fields with which a client may change what its tokens cost. */
export const PRICED_FIELDS = ['service_tier', 'speed', 'inference_geo'] as const
export type PricedField = (typeof PRICED_FIELDS)[number]

/** Values at the base price: a client may send them to any model, and a provider may report them. */
export const BASE_VALUES: ReadonlySet<unknown> = new Set([
  ...[undefined, null, false, 'auto', 'default', 'standard'],
  ...['standard_only', 'on_demand', 'global', 'not_available'],
])

/** By field and value the factor for the prices of tokens, in millionths. */
export type Multipliers = Readonly<Partial<Record<PricedField, Readonly<Record<string, bigint>>>>>

/** Values of fields that change the price: those that a client has asked for, or that a provider says it has served. */
export type PricedValues = Readonly<Partial<Record<PricedField, string>>>

/** How a value of these fields is written, in requests and in the configuration. */
export const PRICED_VALUE = /^[a-z0-9_.-]{1,40}$/

/** As a receipt has them. */
export const parseAsked = (text: string | null | undefined): PricedValues | undefined =>
  text == null ? undefined : (JSON.parse(text) as PricedValues)

export const MILLION = 1_000_000n

export const factorOf = (multipliers: Multipliers | undefined, field: PricedField, value: string | undefined): bigint =>
  configuredFactor(multipliers, field, value) ?? MILLION

/** A provider may report any value, also one that every object has, such as `constructor`. */
function configuredFactor(
  multipliers: Multipliers | undefined,
  field: PricedField,
  value: string | undefined,
): bigint | undefined {
  const factors = multipliers?.[field]
  return factors !== undefined && value !== undefined && Object.hasOwn(factors, value) ? factors[value] : undefined
}

/**
 * By which values a request is charged. What the provider says it has served counts, and what was asked for where it says nothing
 * that has a price. A client never pays more than it has agreed to, which is the dearer of what it asked for and the base price.
 * Undefined: the base price.
 */
export function chargedValues(
  { multipliers }: Pick<Price, 'multipliers'>,
  asked: PricedValues | undefined,
  served: PricedValues | undefined,
): PricedValues | undefined {
  if (multipliers === undefined) return undefined
  let charged: Partial<Record<PricedField, string>> | undefined
  for (const field of PRICED_FIELDS) {
    const value = chargedValue(multipliers, field, [asked?.[field], served?.[field]])
    if (value === undefined) continue
    charged ??= {}
    charged[field] = value
  }
  return charged
}

function chargedValue(
  multipliers: Multipliers,
  field: PricedField,
  [asked, served]: readonly [string | undefined, string | undefined],
): string | undefined {
  if (served === undefined) return asked
  if (BASE_VALUES.has(served)) return undefined
  if (configuredFactor(multipliers, field, served) === undefined) return asked
  const factor = factorOf(multipliers, field, served)
  const agreed = factorOf(multipliers, field, asked)
  if (factor <= agreed || factor <= MILLION) return served
  return agreed > MILLION ? asked : undefined
}

/** A price of the configuration. The ledger numbers its versions. */
export type PriceList = Omit<Price, 'version'>

export const isFree = (price: Price): boolean =>
  price.perRequest === 0n &&
  [price, ...price.tiers].every(
    (prices) => prices.input === 0n && prices.cachedInput === 0n && prices.cacheWrite === 0n && prices.output === 0n,
  )

/**
 * The maximum cost of a turn as a linear function of its output cap. `pricing/price.ts` computes it from the price and the
 * bounds of the request; the ledger uses it to decide which cap the money covers.
 */
export interface HoldTerms {
  /** Input bound × the dearest input class of the dearest tier that the input bound can reach. */
  readonly inputPico: bigint
  /** Output price of the dearest reachable tier × the number of choices. */
  readonly outputPicoPerToken: bigint
  readonly perRequest: NanoUsd
}

/** How a cap is chosen for a request without one, if the money does not cover the model's maximum. */
export interface ChosenCapTerms {
  /** Share of what is available after the input, so that a second request still finds some. */
  readonly sharePercent: number
  /** A shorter answer is useless. */
  readonly tokensMin: number
}

export const heldAmountFor = (terms: HoldTerms, outputCap: number): NanoUsd =>
  (nanoFromPico(terms.inputPico + BigInt(outputCap) * terms.outputPicoPerToken) + terms.perRequest) as NanoUsd

/** How many output tokens `money` covers after the input bound; undefined when it does not cover the input. */
export function tokensCovered(terms: HoldTerms, money: bigint): number | undefined {
  const left = picoFromNano(money - terms.perRequest) - terms.inputPico
  if (left < 0n) return undefined
  if (terms.outputPicoPerToken === 0n) return Number.MAX_SAFE_INTEGER
  const tokens = left / terms.outputPicoPerToken
  return tokens > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(tokens)
}

/**
 * Token classes that do not overlap: the whole prompt is `uncachedInput + cachedInput + cacheWrite`. `reasoning` is a part
 * of `output`, for display only.
 */
export interface Usage {
  readonly uncachedInput: number
  readonly cachedInput: number
  readonly cacheWrite: number
  readonly output: number
  readonly reasoning: number
  /** The provider's total exceeds the sum of its classes without explanation. */
  readonly doubtful?: true
}

export type InputUsage = Pick<Usage, 'uncachedInput' | 'cachedInput' | 'cacheWrite'>

/** `estimated`: the provider reported no usage. A reported 0 is believed. */
export interface MeteredUsage extends Usage {
  readonly estimated: boolean
}

export const inputTokensOf = (usage: InputUsage): number => usage.uncachedInput + usage.cachedInput + usage.cacheWrite
