import { largest, type NanoUsd, nanoFromPico } from '../model/money.ts'
import {
  type HoldTerms,
  type InputUsage,
  inputTokensOf,
  type MeteredUsage,
  type Price,
  type Rates,
  type Usage,
} from '../model/price.ts'
import { dataBytesOf, partBound, type SizedInput, type TokensOfInput } from './estimate.ts'

/** What the usage costs, and which tier it fell into (its threshold; 0 for the base price). Rounded up once, at the end. */
export function priceUsage(price: Price, usage: Usage): { readonly cost: NanoUsd; readonly tier: number } {
  const total = inputTokensOf(usage)
  const tier = price.tiers.findLast((candidate) => total > candidate.aboveInputTokens)
  return { cost: (picoCost(tier ?? price, usage) + price.perRequest) as NanoUsd, tier: tier?.aboveInputTokens ?? 0 }
}

const picoCost = (rates: Rates, usage: Usage): bigint =>
  nanoFromPico(
    BigInt(usage.uncachedInput) * rates.input +
      BigInt(usage.cachedInput) * rates.cachedInput +
      BigInt(usage.cacheWrite) * rates.cacheWrite +
      BigInt(usage.output) * rates.output,
  )

// No tokenizer yields more tokens than its input has bytes (measured for the common ones, on hostile text too). What a
// provider's chat template adds around messages and tools is covered by these.
const TOKENS_PER_MESSAGE = 8
const TOKENS_PER_TOOL = 16
const TOKENS_PER_REQUEST = 64
// Servers explain tools to their model in a prompt of their own, once, however few there are.
const TOKENS_FOR_TOOLS = 1024

/**
 * The most input tokens that this request can become. The data of images and files counts by what the catalogue says of them
 * instead of by its bytes. The model's `context_tokens` does not lower it: it is what the operator promises to clients, and
 * nothing that binds the provider, which reads and bills all that it is sent.
 */
export function inputBound({ inputSize: size, otherInputs }: SizedInput, model: TokensOfInput): number {
  const forTools = size.tools === 0 ? 0 : TOKENS_FOR_TOOLS + size.tools * TOKENS_PER_TOOL
  const forWords = size.bodyBytes - dataBytesOf(otherInputs) + size.messages * TOKENS_PER_MESSAGE + TOKENS_PER_REQUEST
  const forParts = otherInputs.reduce((sum, part) => sum + partBound(part, model), 0)
  return forWords + forTools + forParts
}

/**
 * The most this turn may cost, as a line over its output cap: the input bound at its dearest class, and output at its
 * dearest rate, in the dearest tier that the bound can reach. Which class the provider will report is not known before.
 */
export function holdTermsFor(price: Price, boundTokens: number, choices: number): HoldTerms {
  const reachable = price.tiers.filter((tier) => boundTokens > tier.aboveInputTokens)
  const dearestInput = largest(...inputRates(price), ...reachable.flatMap(inputRates))
  const dearestOutput = largest(price.output, ...reachable.map((rates) => rates.output))
  return {
    inputPico: BigInt(boundTokens) * dearestInput,
    outputPicoPerToken: dearestOutput * BigInt(choices),
    perRequest: price.perRequest,
  }
}

const inputRates = (rates: Rates): [bigint, bigint, bigint] => [rates.input, rates.cachedInput, rates.cacheWrite]

/** No model reads more, unless the catalogue says so: a provider that counts more input than this has miscounted. */
const INPUT_TOKENS_BELIEVED = 10_000_000

/** A count of input beyond the request's own bound is believed, as long as some model can have read that much. */
export const inputWithin = (counted: InputUsage, inputBound: number, contextTokens = 0): number => {
  const believed = Math.max(inputBound, contextTokens, INPUT_TOKENS_BELIEVED)
  return inputTokensOf(counted) <= believed ? believed : inputBound
}

/** What the request can physically have used. */
interface UsageBounds {
  readonly inputTokens: number
  readonly outputTokens: number
}

/**
 * A provider's count beyond the physical bound is a fault of the provider, not a debt of the client: it is cut to the
 * bound and flagged as an estimate. Counts that contradict their own total are flagged too.
 */
export function clampUsage({ doubtful, ...usage }: Usage, bounds: UsageBounds): MeteredUsage {
  const inputFits = inputTokensOf(usage) <= bounds.inputTokens
  const outputFits = usage.output <= bounds.outputTokens
  if (inputFits && outputFits) return { ...usage, estimated: doubtful === true }
  const cachedInput = Math.min(usage.cachedInput, bounds.inputTokens)
  const cacheWrite = Math.min(usage.cacheWrite, bounds.inputTokens - cachedInput)
  const output = Math.min(usage.output, bounds.outputTokens)
  return {
    cachedInput,
    cacheWrite,
    uncachedInput: Math.min(usage.uncachedInput, bounds.inputTokens - cachedInput - cacheWrite),
    output,
    reasoning: Math.min(usage.reasoning, output),
    estimated: true,
  }
}
