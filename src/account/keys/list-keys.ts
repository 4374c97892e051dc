import { z } from 'zod'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Clock } from '../../lib/clock.ts'
import type { AccountRow, KeyRow } from '../../model/ids.ts'
import { allowancesOfCaps } from '../../model/spend-caps.ts'
import type { StoredAccount } from '../../store/accounts.ts'
import { listKeysOfAccount } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { everyAccount } from '../accounts/every-account.ts'
import { resolveAccount } from '../accounts/one-account.ts'
import { nameArgument } from '../arguments.ts'
import { done, type Outcome } from '../outcome.ts'
import { type CapView, capView } from '../plans/allowance-view.ts'
import { findOwnedKey, type OneKeyArgs } from './find-owned-key.ts'
import { type KeyView, keyView } from './key-view.ts'

export const listKeysArgs = z.strictObject({ account: nameArgument.optional() })

export interface ListKeysDeps {
  readonly db: LedgerDb
  readonly clock: Clock
}

export async function listKeys(
  deps: ListKeysDeps,
  args: z.output<typeof listKeysArgs>,
): Promise<Outcome<{ keys: KeyView[] }>> {
  if (args.account === undefined) return done({ keys: await viewKeys(deps, everyAccount(deps)) })
  const resolved = await resolveAccount(deps, args.account)
  return resolved.kind === 'found' ? done({ keys: await viewKeys(deps, [resolved.account]) }) : resolved
}

async function viewKeys(
  deps: ListKeysDeps,
  accounts: Iterable<StoredAccount> | AsyncIterable<StoredAccount>,
): Promise<KeyView[]> {
  const now = deps.clock.now()
  const views: KeyView[] = []
  for await (const account of accounts) {
    for (const key of await listKeysOfAccount(deps.db, account.row)) views.push(keyView(key, account, now))
  }
  return views
}

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
