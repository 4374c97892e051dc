import { transferMoney } from '../books/transfer-money.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { findTransferByRef } from '../store/transfers.ts'
import type { LedgerCore } from './core.ts'
import type { AccountStanding, CreditOrder, CreditOutcome } from './ledger.ts'
import { record } from './record.ts'

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

const READ_BACK_WAIT_MS = 10_000

async function creditOnce(core: LedgerCore, order: CreditOrder): Promise<CreditOutcome> {
  const { account } = order
  if (!(await core.gate.whenOpen(READ_BACK_WAIT_MS)))
    throw new Error('The ledger is being read back; nothing was moved')
  const known = await findTransferByRef(core.db, account, order.ref)
  if (known && known.amount_nano !== order.amount) return { kind: 'ref-taken', amount: known.amount_nano as NanoUsd }
  if (known) return { kind: 'exists', standing: await loadStanding(core, account) }
  for (let loading = core.shelf.load(account); loading; loading = core.shelf.load(account)) await loading
  // From here to the enqueue nothing waits.
  if (!core.gate.open) throw new Error('The ledger failed meanwhile; nothing was moved')
  const moved = transferMoney(core.books, { ...order, at: core.now() })
  const standing = standingOf(core, account)
  if (moved.kind === 'short') return { kind: 'short', standing }
  if (moved.kind === 'too-much') return moved
  if ((await record(core, account, moved.changes)) === 'lost')
    throw new Error('The ledger could not record the transfer; nothing was moved')
  return { kind: 'credited', standing }
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
