import type { HoldTerms } from '../model/hold-terms.ts'
import { largest } from '../model/money.ts'
import type { Price, Rates } from '../model/price.ts'
import { dataBytesOf, partBound, type SizedInput, type TokensOfInput } from './size-input.ts'

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
