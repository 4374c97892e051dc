import type { AccountRow } from '../../model/ids.ts'
import { accountStatusUpdate } from '../../store/accounts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import type { Trail } from '../trail/trail.ts'
import { type AccountView, accountView, resolveAccount } from './one-account.ts'

export interface ChangeAccountDeps {
  readonly db: LedgerDb
  readonly trail: Trail
  /** Drops the keys of an account from the running server's cache, so that the next request reads them anew. */
  readonly forgetAccount: (account: AccountRow) => void
}

/** Every key of the account at once; requests that are running finish, because they were allowed when they came. */
export async function changeAccountStatus(
  deps: ChangeAccountDeps,
  named: string,
  status: 'active' | 'suspended',
): Promise<Outcome<AccountView>> {
  const resolved = await resolveAccount(deps, named)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const act = { action: 'account_status', target: account.id, account: account.row, detail: status } as const
  const changed = await deps.trail
    .act(act, [accountStatusUpdate(account.row, status)])
    .finally(() => deps.forgetAccount(account.row as AccountRow))
  if (!changed) return refused('account_closed', `Account ${account.id} is closed, and that is final.`)
  return done(accountView({ ...account, status }))
}
