import type { ClaimRequest } from '../books/claims.ts'
import type { KeptFacts } from '../ledger/kept-facts.ts'
import type { Recording } from './recording.ts'

/** What makes a turn one that runs once, however often it is asked for: its claim on the key, and its answer to be kept. */
export interface OnceTurn {
  readonly claim: ClaimRequest
  readonly recording: Recording
  /** The recorded answer, with what a charge for it has to know. False when it could not be kept. Never rejects. */
  keep(facts: KeptFacts): Promise<boolean>
  /** The answer was not given, and must not be charged for either. */
  forget(): Promise<void>
}
