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
