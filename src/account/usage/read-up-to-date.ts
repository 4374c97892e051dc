import type { Clock } from '../../lib/clock.ts'
import { type CountUsageDeps, countUsage, findCounted } from './count-usage.ts'
import type { OwnUsage } from './own-usage.ts'

export interface ReadUpToDateDeps extends CountUsageDeps {
  readonly clock: Clock
  readonly own: OwnUsage
  /** Does something while nobody else counts. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>
  readonly onFailure: (error: unknown) => void
}

/** Whoever asks waits no longer than that for what is not counted yet. */
const WAIT_MAX_MICROS = 2_000_000
/** Who is disturbed so often has nothing counted meanwhile. */
const READS_MAX = 3

/** Counts what has closed on the account until now, as much as can be waited for, and has it read. */
export async function readUpToDate<Result>(
  deps: ReadUpToDateDeps,
  account: number,
  read: (asOf: number) => Promise<Result>,
): Promise<Result> {
  const asOf = await countPatiently(deps, account)
  return readOneMoment(deps, account, () => read(asOf))
}

async function countPatiently(deps: ReadUpToDateDeps, account: number): Promise<number> {
  const { clock, own, inTurn } = deps
  const patientUntil = clock.ticks() + WAIT_MAX_MICROS
  for (;;) {
    const asOf = await inTurn(async () => {
      await own.make([account])
      const counted = await countedNow(deps, account)
      return counted ?? (clock.ticks() < patientUntil ? undefined : await countedUntil(deps, account))
    })
    if (asOf !== undefined) return asOf
  }
}

/** Undefined when there is more to count. What cannot be written now is counted later, and what was counted can be read. */
async function countedNow(deps: ReadUpToDateDeps, account: number): Promise<number | undefined> {
  const now = deps.clock.now()
  try {
    return (await countUsage(deps, [account])).length === 0 ? now : undefined
  } catch (error) {
    deps.onFailure(error)
    return countedUntil(deps, account)
  }
}

const countedUntil = async (deps: ReadUpToDateDeps, account: number): Promise<number> =>
  (await findCounted(deps, account))?.closedAt ?? 0

/**
 * Has several questions about what an account has used answered from one moment, without keeping anybody from counting:
 * they are asked again if more was counted meanwhile. Nothing of an account changes without its last receipt.
 */
async function readOneMoment<Result>(
  deps: ReadUpToDateDeps,
  account: number,
  ask: () => Promise<Result>,
): Promise<Result> {
  const lastCounted = async () => (await findCounted(deps, account))?.movement
  for (let reads = 0; reads < READS_MAX; reads++) {
    const before = await lastCounted()
    const result = await ask()
    if ((await lastCounted()) === before) return result
  }
  return deps.inTurn(ask)
}
