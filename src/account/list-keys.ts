import { z } from 'zod'
import type { Clock } from '../lib/clock.ts'
import type { StoredAccount } from '../store/accounts.ts'
import { listKeysOfAccount } from '../store/keys.ts'
import type { LedgerDb } from '../store/tables.ts'
import { everyAccount } from './every-account.ts'
import { type KeyView, keyView } from './key-view.ts'
import { done, type Outcome } from './outcome.ts'
import { nameArgument } from './plain-text.ts'
import { resolveAccount } from './resolve-account.ts'

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
