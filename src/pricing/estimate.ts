import { createLruMap } from '../lib/lru-map.ts'
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

/**
 * Published vocabularies (GPT, Llama, Qwen, DeepSeek, Mistral, Gemma) have no token of more than 128 bytes, and those that are
 * so long are runs of spaces. Twice that leaves room for vocabularies that are not published.
 */
const BYTES_A_TOKEN_MAX = 256
/**
 * Tokenizers split text into words before they look for tokens, so a letter behind a space begins another token. A few
 * experimental ones join frequent words; text of nothing but such words is rare, and half of all words allows for it.
 */
const WORDS_A_TOKEN_MAX = 2

/**
 * The least tokens that text certainly becomes, for any tokenizer. Runs of spaces and of one character, base64 and scripts
 * without spaces count by their bytes alone, which is far below what they become: what is refused by this number must not fit.
 */
export const leastTokens = ({ words, bytes }: { readonly words: number; readonly bytes: number }): number =>
  Math.floor(Math.max(words / WORDS_A_TOKEN_MAX, bytes / BYTES_A_TOKEN_MAX))

/** As much text as certainly becomes so many tokens. */
export const textOfTokens = (tokens: number) => ({
  words: tokens * WORDS_A_TOKEN_MAX,
  bytes: tokens * BYTES_A_TOKEN_MAX,
})

/** Input of fewer bytes than this, for each token, is never refused: each word has a letter and a space. */
export const BYTES_A_LEAST_TOKEN = 2 * WORDS_A_TOKEN_MAX

/**
 * How far the charge of a cancelled turn would have been from the true one, by model: measured at the end of turns whose true
 * usage was told, against what the estimate would have said.
 */
export interface EstimateErrors {
  /** In proportion to the true charge: 0.1 is a tenth too much, -0.1 a tenth too little. */
  note(model: string, error: number): void
  /** Undefined where nothing was measured. */
  of(model: string): EstimateErrorView | undefined
}

/** Of the last turns that were measured; the errors without their sign. */
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
