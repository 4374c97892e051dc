import type { Ending } from '../ledger/ledger.ts'
import type { SettledCharge } from '../model/settled-charge.ts'
import type { MeteredUsage } from '../model/usage.ts'
import type { LastWords } from './last-words.ts'
import type { OnceTurn } from './once-turn.ts'
import type { RunFate } from './run.ts'

export interface ChargedAnswer {
  readonly fate: RunFate
  readonly lastWords: LastWords
  /** What it will tell of its charge. */
  readonly settled: SettledCharge
  /** What it will be charged for. */
  readonly usage: MeteredUsage
  readonly ending: Ending
}

/**
 * Keeps the answer of a turn with an idempotency key before anything is charged for it: a charge without its answer would
 * be money for nothing, an answer without its charge is charged by recovery. Only what was charged and said to its end,
 * be it an error's, is an answer to give again. Returns the ending with whether it was kept.
 */
export async function keepAnswer(
  once: OnceTurn,
  { fate, lastWords, settled, usage, ending }: ChargedAnswer,
): Promise<Ending> {
  if (fate.kind !== 'finished' && fate.kind !== 'broken-off') return ending
  once.recording.close(fate.kind === 'finished' ? lastWords.ofWhole(settled) : lastWords.ofBroken())
  return { ...ending, kept: await once.keep({ ...ending, usage }) }
}
