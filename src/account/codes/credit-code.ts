import { CODE_REF } from '../../contract/operate.ts'
import type { AccountStanding, Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow } from '../../model/ids.ts'
import { inUsd, type NanoUsd } from '../../model/money.ts'
import { listClaimedCodes, type StoredCode, setCodeCredited } from '../../store/codes.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type Refused, refused } from '../outcome.ts'

export interface CreditCodeDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'credit'>
}

/** `exists`: somebody else has made money of it already. */
export interface CodeCredit {
  readonly kind: 'credited' | 'exists'
  readonly standing: AccountStanding
}

/**
 * Makes money of a code that an account has claimed. The reference counts once in the ledger, so this may be done again
 * after whatever went wrong in between, until it is known to be durable; nobody else can have the code meanwhile.
 */
export async function creditCode(
  deps: CreditCodeDeps,
  code: StoredCode,
  account: AccountRow,
): Promise<CodeCredit | Refused> {
  const outcome = await deps.ledger.credit({
    ...{ account, kind: 'credit', amount: code.amount_nano as NanoUsd },
    ...{ reason: `Redeemed code ${code.shown}`, ref: `${CODE_REF}${code.id}` },
  })
  switch (outcome.kind) {
    case 'credited':
    case 'exists':
      await setCodeCredited(deps.db, code.row, deps.clock.now())
      return { kind: outcome.kind, standing: outcome.standing }
    case 'too-much':
      return refused(
        'wallet_full',
        `The wallet cannot hold more than ${inUsd(outcome.most)}. The code is kept for this account: redeem it again when there is room.`,
      )
    default:
      throw new Error(`The credit of ${code.id} came to ${outcome.kind}, which a code's own reference cannot`)
  }
}

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
