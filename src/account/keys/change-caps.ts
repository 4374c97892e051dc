import type { z } from 'zod'
import { nameArgument } from '../arguments.ts'
import type { Outcome } from '../outcome.ts'
import { type ChangeKeyDeps, changeKey } from './change-key.ts'
import type { KeyView } from './key-view.ts'
import { readCaps, spendCapArgs } from './read-caps.ts'

/** What is not named stays as it is; null takes a cap away. */
export const changeCapsArgs = spendCapArgs
  .extend({ key: nameArgument })
  .refine(({ day, month }) => day !== undefined || month !== undefined, 'name the cap of a day, of a month, or both')

/** Counts from the next request on, also for what was spent before: a day in which 4.00 are spent has 1.00 left of 5.00. */
export async function changeCaps(
  deps: ChangeKeyDeps,
  { key, ...caps }: z.output<typeof changeCapsArgs>,
): Promise<Outcome<KeyView>> {
  const read = readCaps(caps)
  return read.kind === 'refused' ? read : changeKey(deps, key, { change: read.columns, said: 'new caps of' })
}
