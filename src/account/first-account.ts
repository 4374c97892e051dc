import { mintAccountId } from '../model/ids.ts'
import type { AtomicStatement } from '../sqlite/sqlite-file.ts'
import { accountInserts, emailUpdate, findAccountByEmail } from '../store/accounts.ts'
import type { PeopleDeps } from './people-deps.ts'

/** The e-mail of the account that a first run makes, until somebody signs up and it is theirs. */
export const PLACEHOLDER_EMAIL = 'you@localhost'

interface FirstAccount {
  readonly id: string
  /** What has to be done in the step in which its owner comes to be. */
  readonly statements: AtomicStatement[]
}

/** For the first person: the account of that e-mail where there is one, else the one of the first run, else a new one. */
export async function firstAccount(deps: PeopleDeps, email: string): Promise<FirstAccount> {
  const known = await findAccountByEmail(deps.db, email)
  if (known !== undefined) return { id: known.id, statements: [] }
  const made = await findAccountByEmail(deps.db, PLACEHOLDER_EMAIL)
  if (made !== undefined) return { id: made.id, statements: [emailUpdate(made.row, email)] }
  const id = mintAccountId(deps.random)
  return { id, statements: accountInserts({ id, email, createdAt: deps.clock.now() }) }
}
