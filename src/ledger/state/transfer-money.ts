import type { AccountRow } from '../../model/ids.ts'
import { dollars, NANO_MAX, type NanoUsd } from '../../model/money.ts'
import { accountStateOf, availableIn, type Change, type LedgerState, nextMovement, SIDES } from './state.ts'

/** Money in or out of a wallet by the operator's word: a credit, or with a negative amount a refund or an adjustment. */
export interface TransferMoney {
  readonly account: AccountRow
  readonly kind: 'credit' | 'refund' | 'adjustment'
  readonly amount: NanoUsd
  readonly reason: string
  readonly ref: string
  readonly at: number
}

type TransferOutcome =
  | { readonly kind: 'transferred'; readonly changes: readonly Change[] }
  /** What running turns hold cannot be taken out. */
  | { readonly kind: 'short'; readonly available: NanoUsd }
  | TooMuch

/** More than one wallet, or all the books together, can hold. */
export interface TooMuch {
  readonly kind: 'too-much'
  readonly holder: 'wallet' | 'books'
  readonly most: NanoUsd
}

/** A billion dollars: whoever credits more has mistyped. */
const WALLET_MAX = dollars(1_000_000_000n)
/** No balance of the books can be more than everything that was ever put in, and every one has to fit into its row. */
const ISSUED_MAX = NANO_MAX

export function transferMoney(ledgerState: LedgerState, op: TransferMoney): TransferOutcome {
  const owner = accountStateOf(ledgerState, op.account)
  const { wallet } = owner
  if (availableIn(wallet) + op.amount < 0n) return { kind: 'short', available: availableIn(wallet) as NanoUsd }
  const tooMuch = op.amount > 0n ? boundPassed(ledgerState, wallet.posted, op.amount) : undefined
  if (tooMuch) return tooMuch
  wallet.posted += op.amount
  ledgerState.issued += op.amount
  const { account, amount, reason, ref, at } = op
  return {
    kind: 'transferred',
    changes: [
      {
        kind: 'transferred',
        transfer: ledgerState.next.transfer++,
        transferKind: op.kind,
        unit: 'usd',
        account,
        bucket: wallet.row,
        counter: SIDES.usd.issued,
        amount,
        reason,
        ref,
        at,
        movement: nextMovement(owner),
        balance: wallet.posted,
      },
      { kind: 'bucket-moved', bucket: wallet.row, posted: amount, held: 0n },
      { kind: 'bucket-moved', bucket: SIDES.usd.issued, posted: -amount, held: 0n },
    ],
  }
}

function boundPassed(ledgerState: LedgerState, posted: bigint, amount: bigint): TooMuch | undefined {
  if (posted + amount > WALLET_MAX) return { kind: 'too-much', holder: 'wallet', most: WALLET_MAX }
  if (ledgerState.issued + amount > ISSUED_MAX) return { kind: 'too-much', holder: 'books', most: ISSUED_MAX }
  return undefined
}
