import { join } from 'node:path'
import { countJournaled } from '../settle-journal.ts'

/** The move was not begun, or not ended. The message tells the operator what to do. */
export class MoveRefused extends Error {
  override readonly name = 'MoveRefused'
}

export const START_ONCE = 'Start the server there once and stop it, and try again.'

/** Ends of turns that the ledger does not have yet would be charged in the old place only. */
export async function refuseJournaled(folder: string): Promise<void> {
  const journaled = await countJournaled(join(folder, 'settles.journal'))
  if (journaled === 'damaged') throw new MoveRefused(`settles.journal in ${folder} is damaged. ${START_ONCE}`)
  if (journaled > 0)
    throw new MoveRefused(
      `settles.journal in ${folder} has ends that are not in the ledger yet (${journaled}). ${START_ONCE}`,
    )
}
