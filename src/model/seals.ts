import type { AccountId } from './ids.ts'

/** What an envelope holds: what was sealed as one of these opens as nothing else. */
export type SealPurpose = 'reasoning' | 'compaction'

/**
 * Our envelope around what a client carries for us: nobody can read or change it, and nobody but the account that was
 * given it can give it back. Every node with the same key ring makes and opens the same ones.
 */
export interface Seals {
  seal(purpose: SealPurpose, owner: AccountId, content: string): string
  /** Undefined: it is not ours, not for this account or purpose, or was changed on the way. */
  open(purpose: SealPurpose, owner: AccountId, envelope: string): string | undefined
}
