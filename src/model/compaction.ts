import type { Opaque } from './event.ts'

/** A conversation made short: by a summary that every model can read, or as its provider alone can read it. */
export type Compacted =
  | { readonly kind: 'summary'; readonly text: string }
  | { readonly kind: 'native'; readonly opaque: Opaque }
