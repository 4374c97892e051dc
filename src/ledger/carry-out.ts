import type { Change } from '../books/changes.ts'
import type { AccountRow } from '../model/ids.ts'
import type { LedgerCore } from './core.ts'
import { record } from './record.ts'

/** An operator waits as long as this for books that are being read back; then the command fails, and may be given again. */
const READ_BACK_WAIT_MS = 10_000

/** Throws when the books cannot be looked at in time. */
export async function waitForBooks(core: LedgerCore): Promise<void> {
  if (!(await core.gate.whenOpen(READ_BACK_WAIT_MS)))
    throw new Error('The ledger is being read back; nothing was changed')
}

/** Carries out an operator's order on an account: decided at once, durable before anybody hears of it. */
export async function carryOut<Outcome extends object>(
  core: LedgerCore,
  account: AccountRow,
  decide: (at: number) => Outcome & { readonly changes?: readonly Change[] | undefined },
): Promise<Outcome> {
  await waitForBooks(core)
  for (let loading = core.shelf.load(account); loading; loading = core.shelf.load(account)) await loading
  // From here to the enqueue nothing waits.
  if (!core.gate.open) throw new Error('The ledger failed meanwhile; nothing was changed')
  const outcome = decide(core.now())
  if (outcome.changes && (await record(core, account, outcome.changes)) === 'lost')
    throw new Error('The ledger could not record the change; nothing was changed')
  return outcome
}
