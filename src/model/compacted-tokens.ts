/** How large a conversation was before it was compacted and after that, in whole tokens: said on the receipt. */
export interface CompactedTokens {
  readonly tokensBefore: number
  readonly tokensAfter: number
}
