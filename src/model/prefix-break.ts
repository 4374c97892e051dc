/** Who has changed a prompt that a provider had read. `gateway`: the client has not, but what was written for the lane differs. */
export const PREFIX_BREAKERS = ['client', 'compaction', 'tool_order', 'lane_change', 'gateway'] as const
export type PrefixBreaker = (typeof PREFIX_BREAKERS)[number]

/** Where a prompt no longer begins as the one before it. */
export interface PrefixBreak {
  /** `tools`, `system`, `settings`, `lane` or a message: `messages[3]`. */
  readonly at: string
  readonly by: PrefixBreaker
  /** Tokens that were in the provider's cache after the turn before, by its count, and were not read from it now. */
  readonly cached?: number
  /** Pieces of sealed reasoning that the lane was not given. */
  readonly reasoning?: number
}
