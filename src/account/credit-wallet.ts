import { z } from 'zod'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd, parseUsd } from '../model/money.ts'
import type { LedgerDb } from '../store/tables.ts'
import { type WalletView, walletView } from './account-view.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { nameArgument, plainText } from './plain-text.ts'
import { resolveAccount } from './resolve-account.ts'

export const creditWalletArgs = z.strictObject({
  account: nameArgument,
  /** A decimal string: a JSON number would already have been rounded. */
  amount: z.string(),
  reason: plainText(500),
  ref: plainText(200),
})

export interface CreditWalletDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'credit'>
}

export interface WalletCredit extends WalletView {
  readonly account: string
  readonly email: string
  readonly amount: string
  readonly ref: string
  readonly reason: string
  /** The reference was known with this amount: nothing was added this time. */
  readonly repeated: boolean
}

export async function creditWallet(
  deps: CreditWalletDeps,
  args: z.output<typeof creditWalletArgs>,
): Promise<Outcome<WalletCredit>> {
  const amount = parseUsd(args.amount)
  if (amount === undefined || amount <= 0n) {
    return refused(
      'invalid_amount',
      `${JSON.stringify(args.amount)} is not an amount: write USD above zero with at most 9 decimals, e.g. 10.00`,
    )
  }
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  if (account.status === 'closed') return refused('account_closed', `Account ${account.id} is closed.`)
  const { reason, ref } = args
  const outcome = await deps.ledger.credit({ account: account.row as AccountRow, kind: 'credit', amount, reason, ref })
  switch (outcome.kind) {
    case 'credited':
    case 'exists':
      return done({
        account: account.id,
        email: account.email,
        amount: formatUsd(amount),
        ref,
        reason,
        repeated: outcome.kind === 'exists',
        ...walletView(outcome.standing),
      })
    case 'ref-taken': {
      const known = formatUsd(outcome.amount)
      const message = `Reference ${JSON.stringify(ref)} of ${account.email} stands for ${known} USD already. Use another.`
      return refused('ref_taken', message)
    }
    case 'short':
      return refused('balance_too_small', 'The wallet does not hold that much.')
    case 'too-much': {
      const holder = outcome.holder === 'wallet' ? 'One wallet holds' : 'All wallets and earnings together hold'
      return refused('invalid_amount', `${holder} at most ${formatUsd(outcome.most)} USD. Nothing was credited.`)
    }
  }
}
