import type { MeteredUsage } from '../model/usage.ts'
import type { Ending } from './ledger.ts'

/**
 * What is stored beside an answer that is kept for repetition: if the process dies before the charge is recorded, the
 * charge is made from this, and the answer can still be given.
 */
export interface KeptFacts extends Omit<Ending, 'kept'> {
  readonly usage: MeteredUsage
}

export const writeKeptFacts = ({ outcome, lane, firstByteMs, totalMs, attempts, usage }: KeptFacts): string =>
  JSON.stringify({ outcome, lane, firstByteMs, totalMs, attempts, usage })

/** Our own words, which nobody else can have written: the file is the house's. */
export const readKeptFacts = (text: string): KeptFacts => JSON.parse(text) as KeptFacts
