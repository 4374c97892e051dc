import { type NanoUsd, nanoFromPico } from '../model/money.ts'
import {
  factorOf,
  type HoldTerms,
  inputTokensOf,
  type MeteredUsage,
  MILLION,
  PRICED_FIELDS,
  type Price,
  type PricedValues,
  type TokenPrices,
  type Usage,
} from '../model/price.ts'
import { partBound, type SizedInput, type TokensOfInput } from './estimate.ts'

/**
 * The cost of the usage, and the threshold of its tier (0 for the base price). Rounded up once, at the end. `values` multiply the
 * price of the tokens, never that of the request.
 */
export function priceUsage(
  price: Omit<Price, 'version'>,
  usage: Usage,
  values?: PricedValues,
): { readonly cost: NanoUsd; readonly tier: number } {
  const total = inputTokensOf(usage)
  const tier = price.tiers.findLast((candidate) => total > candidate.aboveInputTokens)
  const prices: TokenPrices = tier ?? price
  const pico =
    BigInt(usage.uncachedInput) * prices.input +
    BigInt(usage.cachedInput) * prices.cachedInput +
    BigInt(usage.cacheWrite) * prices.cacheWrite +
    BigInt(usage.output) * prices.output
  const tokens = nanoFromPico(values === undefined ? pico : multiplyPico(price, pico, values))
  return { cost: (tokens + price.perRequest) as NanoUsd, tier: tier?.aboveInputTokens ?? 0 }
}

/** Rounded up to a pico-dollar, and then to a nano-dollar: together that is rounded up once. */
export function multiplyPico({ multipliers }: Pick<Price, 'multipliers'>, pico: bigint, values: PricedValues): bigint {
  let product = pico
  let scale = 1n
  for (const field of PRICED_FIELDS) {
    if (values[field] === undefined) continue
    product *= factorOf(multipliers, field, values[field])
    scale *= MILLION
  }
  return (product + scale - 1n) / scale
}

// No tokenizer yields more tokens than its input has bytes (measured for the common ones, on hostile text too). These cover what a
// provider's chat template adds around messages and tools.
const TOKENS_PER_MESSAGE = 8
const TOKENS_PER_TOOL = 16
const TOKENS_PER_REQUEST = 64
// Servers explain tools to their model in one prompt of their own.
const TOKENS_FOR_TOOLS = 1024

/**
 * The most input tokens of a request. Images and files count by the catalogue instead of by their bytes. The model's
 * `context_tokens` does not lower it, because the provider reads and bills everything that it is sent.
 */
export function inputBound({ inputSize: size, otherInputs }: SizedInput, model: TokensOfInput): number {
  const forTools = size.tools === 0 ? 0 : TOKENS_FOR_TOOLS + size.tools * TOKENS_PER_TOOL
  let bound = size.bodyBytes + size.messages * TOKENS_PER_MESSAGE + TOKENS_PER_REQUEST + forTools
  for (const part of otherInputs) bound += partBound(part, model) - part.dataBytes
  return bound
}

/**
 * The maximum cost of a turn, as a line over its output cap: the input bound in its dearest class and the output at its dearest
 * price, in every tier that the bound can reach. Which class the provider will report is not known before. A request that asks for
 * a cheaper service may be served at the base price, so only dearer values count.
 */
export function holdTermsFor(price: Price, boundTokens: number, choices: number, asked?: PricedValues): HoldTerms {
  const tiers = price.tiers.filter(({ aboveInputTokens }) => boundTokens > aboveInputTokens)
  let dearestInput = 0n
  let dearestOutput = 0n
  for (const { input, cachedInput, cacheWrite, output } of [price, ...tiers]) {
    for (const inputPrice of [input, cachedInput, cacheWrite]) if (inputPrice > dearestInput) dearestInput = inputPrice
    if (output > dearestOutput) dearestOutput = output
  }
  const inputPico = BigInt(boundTokens) * dearestInput
  const outputPicoPerToken = dearestOutput * BigInt(choices)
  if (asked === undefined) return { inputPico, outputPicoPerToken, perRequest: price.perRequest }
  const dearer = Object.fromEntries(
    PRICED_FIELDS.filter((field) => factorOf(price.multipliers, field, asked[field]) > MILLION).map((field) => [
      field,
      asked[field],
    ]),
  )
  return {
    inputPico: multiplyPico(price, inputPico, dearer),
    outputPicoPerToken: multiplyPico(price, outputPicoPerToken, dearer),
    perRequest: price.perRequest,
  }
}

/** A provider that counts more input than this has miscounted, unless the catalogue knows a larger context. */
export const INPUT_TOKENS_BELIEVED = 10_000_000

/** The most that a request should have used. */
interface UsageBounds {
  readonly inputBound: number
  readonly outputBound: number
}

/**
 * A count beyond the bound is a fault of the provider, not a debt of the client: it is lowered to the bound and flagged as an
 * estimate. A count of input is believed as far as some model can have read that much. Counts that contradict their own total are
 * flagged too.
 */
export function clampUsage(usage: Usage, { inputBound, outputBound }: UsageBounds, contextTokens = 0): MeteredUsage {
  const isInputBelieved = inputTokensOf(usage) <= Math.max(inputBound, contextTokens, INPUT_TOKENS_BELIEVED)
  if (isInputBelieved && usage.output <= outputBound) {
    const { uncachedInput, cachedInput, cacheWrite, output, reasoning, doubtful } = usage
    return { uncachedInput, cachedInput, cacheWrite, output, reasoning, estimated: doubtful === true }
  }
  const inputMost = isInputBelieved ? Number.POSITIVE_INFINITY : inputBound
  const cachedInput = Math.min(usage.cachedInput, inputMost)
  const cacheWrite = Math.min(usage.cacheWrite, inputMost - cachedInput)
  const output = Math.min(usage.output, outputBound)
  return {
    cachedInput,
    cacheWrite,
    uncachedInput: Math.min(usage.uncachedInput, inputMost - cachedInput - cacheWrite),
    output,
    reasoning: Math.min(usage.reasoning, output),
    estimated: true,
  }
}
