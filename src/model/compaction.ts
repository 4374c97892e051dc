import type { Opaque } from './event.ts'

/** A conversation made short: by a summary that every model can read, or as its provider alone can read it. */
export type Compacted =
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'native'; readonly opaque: Opaque }

/** How large a conversation was before it was compacted and after that, in whole tokens: said on the receipt. */
export interface CompactedTokens {
  readonly tokensBefore: number
  readonly tokensAfter: number
}
