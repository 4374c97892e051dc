import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountRow, KeyRow } from '../model/ids.ts'
import { allowancesOfCaps } from '../model/spend-caps.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type CapView, capView } from './allowance-view.ts'
import { findOwnedKey, type OneKeyArgs } from './find-owned-key.ts'
import { type KeyView, keyView } from './key-view.ts'
import { done, type Outcome } from './outcome.ts'

export interface ShowKeyDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'allowanceStandings'>
}

export interface KeyDetails extends KeyView {
  /** How its caps stand now. */
  readonly spent: readonly CapView[]
}

export async function showKey(deps: ShowKeyDeps, args: OneKeyArgs): Promise<Outcome<KeyDetails>> {
  const found = await findOwnedKey(deps, args.key)
  if (found.kind === 'refused') return found
  const { key, owner } = found
  const caps = allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano })
  const { standings } = await deps.ledger.allowanceStandings(key.account as AccountRow, caps)
  return done({ ...keyView(key, owner, deps.clock.now()), spent: standings.map(capView) })
}
