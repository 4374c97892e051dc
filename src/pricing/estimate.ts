import { createLruMap } from '../lib/collections.ts'
import type { OtherInput, TurnRequest } from '../model/turn.ts'

/** The size of an input. A request has it for what its client sent. */
export type SizedInput = Pick<TurnRequest, 'inputSize' | 'otherInputs'>

/** How the catalogue turns input into tokens. */
export interface TokensOfInput {
  readonly contextTokens: number
  readonly bytesPerToken: number
  /** The most tokens of one part. */
  readonly inputTokensMax: Readonly<Partial<Record<OtherInput['kind'], number>>>
}

/**
 * The most tokens that a part can become. A picture, and what the provider fetches, counts for what the catalogue says, however
 * long its data is. A document, and what may be read as text, never counts for less than its bytes: a file name and a few first
 * bytes must not make a long text cheap.
 */
export function partBound({ kind, form, dataBytes }: OtherInput, model: TokensOfInput): number {
  // Admission refuses a kind that the model does not list, and the configuration a kind without a bound.
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
 * The estimated tokens of a part where the provider reports none. The bound of a picture is near what most of them cost; that of
 * a document is for the longest, and a short one has hardly more tokens than bytes.
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
 * The estimated tokens of a whole input: text by its bytes and the catalogue's ratio, images and files by their kind. A tokenizer
 * would be closer on plain text, but hostile text can make it run for seconds.
 */
export function estimateInput({ inputSize, otherInputs }: SizedInput, model: TokensOfInput): number {
  let textBytes = inputSize.inputBytes
  let partTokens = 0
  for (const part of otherInputs) {
    textBytes -= part.dataBytes
    partTokens += partEstimate(part, model)
  }
  return Math.ceil(Math.max(textBytes, 0) / model.bytesPerToken) + partTokens
}

/** Published vocabularies (GPT, Llama, Qwen, DeepSeek, Mistral, Gemma) have no token of more than 128 bytes; twice that is safe. */
const BYTES_A_TOKEN_MAX = 256
/** Tokenizers split text into words first. A few experimental ones join frequent words, so two words may be one token. */
const WORDS_A_TOKEN_MAX = 2

/**
 * The least tokens that text becomes with any tokenizer: input that is refused by this number certainly does not fit. Base64,
 * scripts without spaces and runs of one character count by their bytes alone.
 */
export const leastTokens = ({ words, bytes }: { readonly words: number; readonly bytes: number }): number =>
  Math.floor(Math.max(words / WORDS_A_TOKEN_MAX, bytes / BYTES_A_TOKEN_MAX))

/** As much text as becomes at least so many tokens. */
export const textOfTokens = (tokens: number) => ({
  words: tokens * WORDS_A_TOKEN_MAX,
  bytes: tokens * BYTES_A_TOKEN_MAX,
})

/** Input with fewer bytes a token is never refused: each word has a letter and a space. */
export const BYTES_A_LEAST_TOKEN = 2 * WORDS_A_TOKEN_MAX

/** By how much the estimated charge of a cancelled turn is wrong, by model: measured on turns with the provider's own usage. */
export interface EstimateErrors {
  /** In proportion to the true charge: 0.1 is a tenth too much, -0.1 a tenth too little. */
  note(model: string, error: number): void
  /** Undefined before the first measurement. */
  of(model: string): EstimateErrorView | undefined
}

/** Of the last measured turns; the errors without their sign. */
interface EstimateErrorView {
  readonly turns: number
  readonly median: number
  readonly p90: number
}

const TURNS_MAX = 200
const MODELS_MAX = 1000

interface Measured {
  readonly errors: Float32Array
  count: number
}

export function createEstimateErrors(): EstimateErrors {
  const models = createLruMap<string, Measured>(MODELS_MAX)
  return {
    note(model, error) {
      const measured = models.get(model) ?? { errors: new Float32Array(TURNS_MAX), count: 0 }
      if (measured.count === 0) models.set(model, measured)
      measured.errors[measured.count % TURNS_MAX] = Math.abs(error)
      measured.count += 1
    },
    of(model) {
      const measured = models.get(model)
      if (measured === undefined) return undefined
      const turns = Math.min(measured.count, TURNS_MAX)
      const sorted = measured.errors.slice(0, turns).sort()
      const at = (share: number) => sorted[Math.min(turns - 1, Math.floor(share * turns))] ?? 0
      return { turns, median: at(0.5), p90: at(0.9) }
    },
  }
}
