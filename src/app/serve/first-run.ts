import { join } from 'node:path'
import { createAccount } from '../../account/accounts/create-account.ts'
import { createKey } from '../../account/keys/create-key.ts'
import type { OperationDeps } from '../../account/operations.ts'
import type { Outcome } from '../../account/outcome.ts'
import { PLACEHOLDER_EMAIL } from '../../account/people/sign-up.ts'
import { creditWallet } from '../../account/wallet/credit-wallet.ts'
import { isLoopback } from '../../lib/local-address.ts'
import { listAccounts } from '../../store/accounts.ts'
import { writePrivately } from '../process/private-files.ts'
import type { BannerBooks } from './banner.ts'

export interface FirstRunGround {
  readonly configPath: string | undefined
  readonly host: string
  readonly data: string
  /** Whether a person reads what is printed; otherwise the key goes to a file. */
  readonly attended: boolean
}

const TEST_CREDIT = '10.00'

/**
 * An account, test credit and a key for somebody who has just installed Millrace: only with no configuration, an empty
 * database and a server that nobody else can reach, so that no free key ever stands open to a network.
 */
export async function greetFirstRun(deps: Omit<OperationDeps, 'status'>, ground: FirstRunGround): Promise<BannerBooks> {
  if ((await listAccounts(deps.db, { after: 0, limit: 1 })).length > 0) return { kind: 'in-use' }
  if (ground.configPath !== undefined || !isLoopback(ground.host)) return { kind: 'no-account' }

  const account = mustBeDone(await createAccount(deps, { email: PLACEHOLDER_EMAIL }))
  const credit = { account: account.id, amount: TEST_CREDIT, reason: 'test credit of the first run', ref: 'first-run' }
  mustBeDone(await creditWallet(deps, credit))
  const made = mustBeDone(await createKey(deps, { account: account.id, kind: 'wallet', name: 'first key' }))
  return { kind: 'first-run', credit: TEST_CREDIT, key: await handOver(made.key, ground) }
}

async function handOver(secret: string, ground: FirstRunGround): Promise<{ secret: string } | { file: string }> {
  if (ground.attended) return { secret }
  const file = join(ground.data, 'first-key')
  await writePrivately(file, `${secret}\n`)
  return { file }
}

/** In an empty database nothing can stand in the way; if something does, the start must not go on as if it had worked. */
function mustBeDone<Value>(outcome: Outcome<Value>): Value {
  if (outcome.kind === 'done') return outcome.value
  throw new Error(`The first run could not be set up: ${outcome.message}`)
}
