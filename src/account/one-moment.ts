import { findCountedUpTo } from '../content/usage-totals.ts'
import type { SqliteFile } from '../sqlite/sqlite-file.ts'

export interface OneMomentDeps {
  readonly content: SqliteFile
  /** Does something while nothing is counted. */
  readonly undisturbed: <Result>(work: () => Promise<Result>) => Promise<Result>
}

/** Who is disturbed so often has nothing counted meanwhile. */
const READS_MAX = 3

/**
 * Has several questions about what an account has used answered from one moment, without keeping anybody from counting:
 * they are asked again if more was counted meanwhile. Nothing of an account changes without its last receipt.
 */
export async function readOneMoment<Result>(
  { content, undisturbed }: OneMomentDeps,
  account: number,
  ask: () => Promise<Result>,
): Promise<Result> {
  const lastCounted = async () => (await findCountedUpTo(content, [account])).get(account)?.movement
  for (let reads = 0; reads < READS_MAX; reads++) {
    const before = await lastCounted()
    const result = await ask()
    if ((await lastCounted()) === before) return result
  }
  return undisturbed(ask)
}
