import type { z } from 'zod'
import type { creditBody } from '../../contract/operate.ts'
import type { CreditOrder, CreditOutcome, Ledger } from '../../ledger/ledger.ts'
import { assertNever } from '../../lib/assert-never.ts'
import type { AccountRow } from '../../model/ids.ts'
import { formatUsd, inUsd, type NanoUsd, parseUsd } from '../../model/money.ts'
import type { StoredAccount } from '../../store/accounts.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type OneAccount, resolveOpenAccount, type WalletView, walletView } from '../accounts/one-account.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { carryOutOrder, type Trail } from '../trail/trail.ts'

export interface CreditWalletDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'credit'>
  readonly trail: Trail
}

export interface WalletCredit extends WalletView {
  readonly account: string
  readonly email: string
  /** Below zero: so much was taken out. */
  readonly amount: string
  readonly ref: string
  readonly reason: string
  /** The reference was known with this amount: nothing was moved this time. */
  readonly repeated: boolean
}

type MoveArgs = z.output<typeof creditBody> & OneAccount

/** Money that came in. */
export const creditWallet = (deps: CreditWalletDeps, args: MoveArgs) => moveMoney(deps, args, 'credit', 1n)

/** Money that goes back to whoever paid it in: not more than is there and not held. */
export const refundWallet = (deps: CreditWalletDeps, args: MoveArgs) => moveMoney(deps, args, 'refund', -1n)

/** What makes a mistake good, in either direction. */
export const adjustWallet = (
  deps: CreditWalletDeps,
  { direction, ...args }: MoveArgs & { readonly direction: 'add' | 'take' },
) => moveMoney(deps, args, 'adjustment', direction === 'add' ? 1n : -1n)

async function moveMoney(
  deps: CreditWalletDeps,
  args: MoveArgs,
  kind: CreditOrder['kind'],
  sign: 1n | -1n,
): Promise<Outcome<WalletCredit>> {
  const written = parseUsd(args.amount)
  if (written === undefined || written <= 0n) {
    return refused(
      'invalid_amount',
      `${JSON.stringify(args.amount)} is not an amount: write USD above zero with at most 9 decimals, e.g. 10.00`,
      { param: 'amount' },
    )
  }
  const amount = (written * sign) as NanoUsd
  const resolved = await resolveOpenAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const { reason, ref } = args
  // What may be long comes last: the trail cuts it.
  const detail = `${inUsd(amount)} (${ref}): ${reason}`
  const order = { action: 'wallet_ordered', target: account.id, account: account.row, detail } as const
  return carryOutOrder(deps, order, async () => {
    const moved = await deps.ledger.credit({ account: account.row as AccountRow, kind, amount, reason, ref })
    const outcome = outcomeOf(moved, { account, amount, reason, ref })
    return moved.kind === 'exists' ? { outcome, void: 'counted before' } : { outcome }
  })
}

interface Moved {
  readonly account: StoredAccount
  readonly amount: NanoUsd
  readonly reason: string
  readonly ref: string
}

function outcomeOf(moved: CreditOutcome, { account, amount, reason, ref }: Moved): Outcome<WalletCredit> {
  switch (moved.kind) {
    case 'credited':
    case 'exists':
      return done({
        account: account.id,
        email: account.email,
        amount: formatUsd(amount),
        ref,
        reason,
        repeated: moved.kind === 'exists',
        ...walletView(moved.standing),
      })
    case 'ref-taken': {
      const known = inUsd(moved.amount)
      const message = `Reference ${JSON.stringify(ref)} of ${account.email} stands for ${known} already. Use another.`
      return refused('ref_taken', message, { param: 'ref' })
    }
    case 'short':
      return refused(
        'balance_too_small',
        `The wallet has ${inUsd(moved.standing.available)} that is not held by running requests. Nothing was taken.`,
        { param: 'amount' },
      )
    case 'too-much': {
      const holder = moved.holder === 'wallet' ? 'One wallet holds' : 'All wallets and earnings together hold'
      return refused('invalid_amount', `${holder} at most ${inUsd(moved.most)}. Nothing was added.`, {
        param: 'amount',
      })
    }
    default:
      return assertNever(moved)
  }
}
