import type { OtherInput, TurnRequest } from '../model/turn.ts'

/** How large an input is. A request is one, as far as its client has sent it. */
export type SizedInput = Pick<TurnRequest, 'inputSize' | 'otherInputs'>

/** What the catalogue says of how many tokens input becomes. */
export interface TokensOfInput {
  readonly contextTokens: number
  readonly bytesPerToken: number
  /** The most that one part can count for. */
  readonly inputTokensMax: Readonly<Partial<Record<OtherInput['kind'], number>>>
}

export const dataBytesOf = (parts: readonly OtherInput[]): number =>
  parts.reduce((sum, { dataBytes }) => sum + dataBytes, 0)

/**
 * The most tokens that a part can become. What certainly is a picture is seen, never read: however long its data is, it
 * counts for no more than the catalogue says; and so does what its provider fetches, of which we have nothing but the
 * catalogue's word. A document, and what may be read as text, counts for that too, but never for less than it has bytes:
 * a name and a few bytes at its beginning shall not make a long text cheap.
 */
export function partBound({ kind, form, dataBytes }: OtherInput, model: TokensOfInput): number {
  // Admission has refused a kind that the model does not list, and the configuration one without a bound.
  const most = model.inputTokensMax[kind] ?? model.contextTokens
  switch (form) {
    case 'address':
    case 'picture':
      return most
    case 'document':
    case 'text':
      return Math.max(most, dataBytes)
  }
}

/**
 * What a part is taken for where a provider tells nothing. The bounds of pictures are near what most of them cost; those of
 * documents are for the longest, and a short one is hardly more tokens than it has bytes. Text is text.
 */
export function partEstimate({ kind, form, dataBytes }: OtherInput, model: TokensOfInput): number {
  const most = model.inputTokensMax[kind] ?? model.contextTokens
  switch (form) {
    case 'address':
    case 'picture':
      return most
    case 'document':
      return Math.min(most, dataBytes)
    case 'text':
      return Math.ceil((dataBytes * BYTES_IN_BASE64) / model.bytesPerToken)
  }
}

const BYTES_IN_BASE64 = 3 / 4

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
