import type { AccountRow } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { availableIn, type Books, booksOf } from './books.ts'
import type { Change } from './changes.ts'

/** Money in or out of a wallet by the operator's word: a credit, or with a negative amount a refund or an adjustment. */
export interface TransferMoney {
  readonly account: AccountRow
  readonly kind: 'credit' | 'refund' | 'adjustment'
  readonly amount: NanoUsd
  readonly reason: string
  readonly ref: string
  readonly at: number
}

export type TransferOutcome =
  | { readonly kind: 'transferred'; readonly changes: readonly Change[] }
  /** What running turns hold cannot be taken out. */
  | { readonly kind: 'short'; readonly available: NanoUsd }

export function transferMoney(books: Books, op: TransferMoney): TransferOutcome {
  const { wallet } = booksOf(books, op.account)
  if (availableIn(wallet) + op.amount < 0n) return { kind: 'short', available: availableIn(wallet) as NanoUsd }
  wallet.posted += op.amount
  const { account, amount, reason, ref, at } = op
  return {
    kind: 'transferred',
    changes: [
      {
        kind: 'transferred',
        transfer: books.nextTransfer++,
        transferKind: op.kind,
        account,
        bucket: wallet.row,
        amount,
        reason,
        ref,
        at,
      },
      { kind: 'bucket-moved', bucket: wallet.row, posted: amount, held: 0n },
    ],
  }
}
