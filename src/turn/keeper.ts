import type { KeptFacts } from '../ledger/kept-facts.ts'

/** Whoever keeps an answer for those who ask for it later. Nothing of it rejects. */
export interface Keeper {
  /** The whole answer, before it is charged for. False when it could not be kept. */
  keep(facts: KeptFacts): Promise<boolean>
  /** The client was told that nothing came of it: nothing shall be found, and nothing charged for by recovery. */
  forget(): Promise<void>
}
