import { transferMoney } from '../books/transfer-money.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { findTransferByRef } from '../store/transfers.ts'
import { carryOut, waitForBooks } from './carry-out.ts'
import type { LedgerCore } from './core.ts'
import type { AccountStanding, CreditOrder, CreditOutcome } from './ledger.ts'

/**
 * Money by the operator's word, once per reference. Orders of one account run one after another: between looking the
 * reference up and recording it, no second order with the same one may pass.
 */
export function createCreditDesk(core: LedgerCore) {
  const queues = new Map<AccountRow, Promise<unknown>>()
  return {
    async credit(order: CreditOrder): Promise<CreditOutcome> {
      const before = queues.get(order.account) ?? Promise.resolve()
      const mine = before.catch(() => {}).then(() => creditOnce(core, order))
      queues.set(order.account, mine)
      try {
        return await mine
      } finally {
        if (queues.get(order.account) === mine) queues.delete(order.account)
      }
    },
  }
}

async function creditOnce(core: LedgerCore, order: CreditOrder): Promise<CreditOutcome> {
  const { account } = order
  await waitForBooks(core)
  const known = await findTransferByRef(core.db, account, order.ref)
  if (known && known.amount_nano !== order.amount) return { kind: 'ref-taken', amount: known.amount_nano as NanoUsd }
  if (known) return { kind: 'exists', standing: await loadStanding(core, account) }
  const { moved, standing } = await carryOut(core, account, (at) => {
    const outcome = transferMoney(core.books, { ...order, at })
    const changes = outcome.kind === 'transferred' ? outcome.changes : undefined
    return { moved: outcome, changes, standing: standingOf(core, account) }
  })
  if (moved.kind === 'too-much') return moved
  return { kind: moved.kind === 'short' ? 'short' : 'credited', standing }
}

export async function loadStanding(core: LedgerCore, account: AccountRow): Promise<AccountStanding> {
  for (let loading = core.shelf.load(account); loading; loading = core.shelf.load(account)) await loading
  return standingOf(core, account)
}

/** The account as memory knows it: exact, and what the next admission decides on. */
function standingOf(core: LedgerCore, account: AccountRow): AccountStanding {
  const wallet = core.books.accounts.get(account)?.wallet
  if (!wallet) throw new Error(`The books of account ${account} were not loaded`)
  return {
    balance: wallet.posted as NanoUsd,
    held: wallet.held as NanoUsd,
    available: (wallet.posted - wallet.held) as NanoUsd,
  }
}
