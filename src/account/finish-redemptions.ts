import type { AccountRow } from '../model/ids.ts'
import { listClaimedCodes, type StoredCode } from '../store/codes.ts'
import { type CreditCodeDeps, creditCode } from './credit-code.ts'

export interface FinishRedemptionsDeps extends CreditCodeDeps {
  /** Money that is somebody's and could not be credited now either; the next start tries again. */
  readonly onUnfinished: (code: string, reason: unknown) => void
}

const PAGE = 500

/** Credits the codes that a dead process had given to an account and not made money of. Returns how many. */
export async function finishRedemptions(deps: FinishRedemptionsDeps): Promise<number> {
  let finished = 0
  for (let after = 0; ; ) {
    const page = await listClaimedCodes(deps.db, { after, limit: PAGE })
    for (const code of page) if (await finish(deps, code)) finished++
    if (page.length < PAGE) return finished
    after = page.at(-1)!.row
  }
}

async function finish(deps: FinishRedemptionsDeps, code: StoredCode): Promise<boolean> {
  try {
    const outcome = await creditCode(deps, code, code.redeemed_by as AccountRow)
    if (outcome.kind !== 'refused') return true
    deps.onUnfinished(code.id, outcome.message)
  } catch (error) {
    deps.onUnfinished(code.id, error)
  }
  return false
}
