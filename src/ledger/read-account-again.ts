import { countAllRunning } from '../books/turn-limits.ts'
import type { AccountRow } from '../model/ids.ts'
import { setFrozen } from '../store/accounts.ts'
import { listOpenReceipts } from '../store/receipts.ts'
import type { Operation } from './batcher.ts'
import type { LedgerCore } from './core.ts'
import { loadAccountBooks } from './load-account.ts'
import { NO_LIMITS, openTurnOf, readClaims } from './read-books.ts'

/**
 * The file has refused what memory decided on an account. Until somebody has looked the account is frozen, and memory takes
 * over what the file says of it: its balances, its open turns, and the idempotency keys that were decided on in vain.
 */
export function freezeAndReadAgain(
  core: LedgerCore,
  account: AccountRow,
  refused: readonly Operation[],
): Promise<void> {
  // Freeze in memory at once, so that nothing more is admitted, even if the read fails.
  const ahead = core.books.accounts.get(account)
  if (ahead) ahead.frozen = true
  return core.shelf.readAgain(account, async () => {
    await setFrozen(core.file, account, core.now())
    const { books } = core
    const turnsBefore = [...books.turns.values()].filter((turn) => turn.account === account)
    const scopes = new Set([...turnsBefore.flatMap(({ claim }) => claim ?? []), ...refused.flatMap(scopesOf)])
    const [loaded, receipts, claims] = await Promise.all([
      loadAccountBooks(core.db, account),
      listOpenReceipts(core.db, account),
      readClaims(core.db, scopes),
    ])
    // From here on nothing waits: nobody meets an account of which one half is old and the other new.
    const limits = new Map(turnsBefore.map((turn) => [turn.requestId, turn.limits]))
    for (const { requestId } of turnsBefore) books.turns.delete(requestId)
    for (const receipt of receipts) {
      const turn = openTurnOf(receipt, loaded, limits.get(receipt.request_id as never) ?? NO_LIMITS)
      books.turns.set(turn.requestId, turn)
    }
    books.accounts.set(account, loaded)
    for (const [scope, claim] of claims) books.claims.set(scope, claim)
    books.running = countAllRunning(books.turns.values())
  })
}

const scopesOf = ({ changes }: Operation): string[] =>
  changes.flatMap((change) => (change.kind === 'claim-opened' || change.kind === 'claim-ended' ? change.scope : []))
