/**
 * Where a provider reports nothing, tokens are bytes by the catalogue's ratio, rounded up. A tokenizer would be closer
 * on plain text and can be made to run for seconds on hostile text, so none is on this path.
 */
export const estimateTokens = (bytes: number, bytesPerToken: number): number => Math.ceil(bytes / bytesPerToken)
