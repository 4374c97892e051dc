import { dataBytesOf, partEstimate, type SizedInput, type TokensOfInput } from './size-parts.ts'

/**
 * Where a provider reports nothing, tokens are bytes by the catalogue's ratio, rounded up. A tokenizer would be closer
 * on plain text and can be made to run for seconds on hostile text, so none is on this path.
 */
export const estimateTokens = (bytes: number, bytesPerToken: number): number => Math.ceil(bytes / bytesPerToken)

/** The same for a whole input: words by their bytes, the data of images and files by what they are. */
export function estimateInput({ inputSize, otherInputs }: SizedInput, model: TokensOfInput): number {
  const words = Math.max(inputSize.inputBytes - dataBytesOf(otherInputs), 0)
  const parts = otherInputs.reduce((sum, part) => sum + partEstimate(part, model), 0)
  return estimateTokens(words, model.bytesPerToken) + parts
}
