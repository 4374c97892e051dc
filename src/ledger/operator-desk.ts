import { booksOf } from '../books/books.ts'
import type { Change } from '../books/changes.ts'
import { assignPlan, endPlan } from '../books/subscriptions.ts'
import { transferMoney } from '../books/transfer-money.ts'
import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { findTransferByRef } from '../store/transfers.ts'
import { standingOf } from './account-standing.ts'
import type { LedgerCore } from './core.ts'
import type { CreditOrder, CreditOutcome, Ledger } from './ledger.ts'
import { record } from './record.ts'

/** What operators order. */
export function createOperatorDesk(core: LedgerCore): Pick<Ledger, 'credit' | 'assignPlan' | 'endPlan'> {
  const credits = new Map<AccountRow, Promise<unknown>>()
  return {
    /** One after another on an account: between looking a reference up and recording it, no second order with it may pass. */
    async credit(order) {
      const before = credits.get(order.account) ?? Promise.resolve()
      const mine = before.catch(() => {}).then(() => creditOnce(core, order))
      credits.set(order.account, mine)
      try {
        return await mine
      } finally {
        if (credits.get(order.account) === mine) credits.delete(order.account)
      }
    },
    assignPlan: (order) => carryOut(core, order.account, (at) => assignPlan(core.books, { ...order, at })),
    endPlan: (order) => carryOut(core, order.account, (at) => endPlan(core.books, { endsAt: at, ...order, at })),
  }
}

/** Money by the operator's word, once per reference. */
async function creditOnce(core: LedgerCore, order: CreditOrder): Promise<CreditOutcome> {
  const { account } = order
  await waitForBooks(core)
  const known = await findTransferByRef(core.db, account, order.kind, order.ref)
  if (known && known.amount_nano !== order.amount) return { kind: 'ref-taken', amount: known.amount_nano as NanoUsd }
  if (known) return { kind: 'exists', standing: await core.shelf.withBooks(account, standingOf) }
  const { moved, standing } = await carryOut(core, account, (at) => {
    const outcome = transferMoney(core.books, { ...order, at })
    const changes = outcome.kind === 'transferred' ? outcome.changes : undefined
    return { moved: outcome, changes, standing: standingOf(booksOf(core.books, account)) }
  })
  if (moved.kind === 'too-much') return moved
  return { kind: moved.kind === 'short' ? 'short' : 'credited', standing }
}

/** An operator waits as long as this for books that are being read back; then the command fails, and may be given again. */
const ORDER_WAIT_MS = 10_000

/** Throws when the books cannot be looked at in time. */
async function waitForBooks(core: LedgerCore): Promise<void> {
  if (!(await core.gate.whenOpen(ORDER_WAIT_MS))) throw new Error('The ledger is being read back; nothing was changed')
}

/** Decided at once, durable before anybody hears of it. */
async function carryOut<Outcome extends object>(
  core: LedgerCore,
  account: AccountRow,
  decide: (at: number) => Outcome & { readonly changes?: readonly Change[] | undefined },
): Promise<Outcome> {
  await waitForBooks(core)
  return core.shelf.withBooks(account, async () => {
    // From here to the enqueue nothing waits.
    if (!core.gate.open) throw new Error('The ledger failed meanwhile; nothing was changed')
    const outcome = decide(core.now())
    if (outcome.changes && (await record(core, account, outcome.changes)) !== 'durable')
      throw new Error(
        'The ledger could not record the change: look whether it is there, and give the order again if not',
      )
    return outcome
  })
}
