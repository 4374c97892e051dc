import type { RequestId } from '../model/ids.ts'
import type { MeteredUsage } from '../model/usage.ts'
import type { Ending } from './ledger.ts'

/**
 * What is stored beside an answer that is kept, for repetition or to be asked for by its id: if the process dies before the charge is recorded, the
 * charge is made from this, and the answer can still be given.
 */
export interface KeptFacts extends Omit<Ending, 'kept'> {
  readonly usage: MeteredUsage
}

export const writeKeptFacts = (facts: KeptFacts): string => {
  const { outcome, lane, firstByteMs, totalMs, attempts, compaction, usage } = facts
  return JSON.stringify({ outcome, lane, firstByteMs, totalMs, attempts, compaction, usage })
}

export interface FoundFacts {
  /** As `writeKeptFacts` has made them. */
  readonly facts: string
  /** Whoever repeats the request with its idempotency key gets the answer. */
  readonly givenAgain: boolean
}

/** Of those of these requests whose answers are kept. */
export type FindKeptFacts = (requests: readonly RequestId[]) => Promise<ReadonlyMap<RequestId, FoundFacts>>

/** Our own words, which nobody else can have written: the file is the house's. */
export const readKeptFacts = (text: string): KeptFacts => JSON.parse(text) as KeptFacts
