import type { PageQuery } from '../../contract/values.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow, KeyRow } from '../../model/ids.ts'
import { allowancesOfCaps } from '../../model/spend-caps.ts'
import { listWholeKeys } from '../../store/list-keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type AnyAccount, resolveAccount } from '../accounts/one-account.ts'
import { done, type Outcome } from '../outcome.ts'
import { cutPage, type Page } from '../pages.ts'
import { type CapView, capView } from '../plans/allowance-view.ts'
import { findOwnedKey, type OneKey } from './find-owned-key.ts'
import { type KeyView, keyView } from './key-view.ts'

interface ListKeysDeps {
  readonly db: LedgerDb
  readonly clock: Clock
}

/** As an operator sees them: of one account or of all, newest first, revoked ones included. A page begins after the key it names. */
export async function listKeys(
  deps: ListKeysDeps,
  { account, after, limit }: PageQuery & AnyAccount,
): Promise<Outcome<Page<KeyView>>> {
  const resolved = account === undefined ? undefined : await resolveAccount(deps, account)
  if (resolved?.kind === 'refused') return resolved
  const of = resolved?.account.row as AccountRow | undefined
  const last = after === undefined ? undefined : await findOwnedKey(deps, after, of)
  if (last?.kind === 'refused') return last
  const read = await listWholeKeys(deps.db, of, { before: last?.key.row ?? Number.MAX_SAFE_INTEGER, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const now = deps.clock.now()
  const items = rows.map((key) => keyView(key, { id: key.owner_id, email: key.owner_email }, now))
  return done({ items, next })
}

export interface ShowKeyDeps extends ListKeysDeps {
  readonly ledger: Pick<Ledger, 'allowanceStandings'>
}

export interface KeyDetails extends KeyView {
  /** How its caps stand now. */
  readonly spent: readonly CapView[]
}

export async function showKey(deps: ShowKeyDeps, { key: named }: OneKey): Promise<Outcome<KeyDetails>> {
  const found = await findOwnedKey(deps, named)
  if (found.kind === 'refused') return found
  const { key, owner } = found
  const caps = allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano })
  const { standings } = await deps.ledger.allowanceStandings(key.account as AccountRow, caps)
  return done({ ...keyView(key, owner, deps.clock.now()), spent: standings.map(capView) })
}
