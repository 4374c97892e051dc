import type { z } from 'zod'
import type { creditBody, fundingRequest } from '../contract/operate.ts'
import type { requestFundingBody, walletAnswer, wish } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow, type StoredAccount } from '../db/accounts.ts'
import {
  findOpenFundingRequest,
  fundingRequestPut,
  listOpenFundingRequests,
  type StoredFundingRequest,
} from '../db/funding-requests.ts'
import { sumRunning } from '../db/receipts.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { CreditOrder, CreditOutcome, Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../lib/clock.ts'
import { assertNever } from '../lib/types.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd, inUsd, type NanoUsd, parseUsd } from '../model/money.ts'
import {
  accountClosed,
  type OneAccount,
  resolveAccount,
  resolveOpenAccount,
  type WalletView,
  walletOf,
  walletView,
} from './accounts.ts'
import { type ActorLog, applyOrder } from './audit.ts'
import { done, type Outcome, refused } from './outcome.ts'
import { cutPage, isoTime, type Page, readAmount, readCursor, writeCursor } from './values.ts'

export interface CreditWalletDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'credit'>
  readonly auditLog: ActorLog
}

interface WalletCredit extends WalletView {
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
  return applyOrder(deps, order, async () => {
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

export interface WalletBalanceDeps {
  readonly db: LedgerDb
  readonly ledger: Pick<Ledger, 'standing'>
}

interface WalletStanding extends WalletView {
  readonly account: string
  readonly email: string
  readonly currency: 'USD'
}

export async function showWallet(deps: WalletBalanceDeps, args: OneAccount): Promise<Outcome<WalletStanding>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const wallet = await walletOf(deps.ledger, account.row)
  return done({ account: account.id, email: account.email, currency: 'USD', ...wallet })
}

/** Requests of an account that run on its wallet now, and what they hold of it. */
async function runningOnWallet(
  { db }: { readonly db: LedgerDb },
  account: AccountRow,
): Promise<{ readonly running: number; readonly held: string }> {
  const { requests, held_nano } = await sumRunning(db, account, 'wallet')
  return { running: requests, held: formatUsd(held_nano) }
}

/** A wallet as the next admission sees it, with what is on its way out and what was asked for. */
export async function walletBalance(
  deps: WalletBalanceDeps,
  account: AccountRow,
): Promise<z.output<typeof walletAnswer>> {
  const { running } = await runningOnWallet(deps, account)
  return { ...(await walletOf(deps.ledger, account)), running, asked: await openFundingRequest(deps, account) }
}

/** What an account has asked the operator for. */
type FundingRequestView = z.output<typeof wish>

const fundingRequestView = ({ amount_nano, note, at }: StoredFundingRequest): FundingRequestView => ({
  amount: formatUsd(amount_nano),
  note,
  at: isoTime(at),
})

/** Null when there is none, or the operator has answered it with a credit. */
export async function openFundingRequest(
  deps: { readonly db: LedgerDb },
  account: AccountRow,
): Promise<FundingRequestView | null> {
  const open = await findOpenFundingRequest(deps.db, account)
  return open === undefined ? null : fundingRequestView(open)
}

interface AskForFundsDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly auditLog: ActorLog
}

/**
 * Says to the operator that funds are wanted, where no card can be charged. The next credit answers it. Asking again
 * changes what is asked for, so that nobody fills the operator's list.
 */
export async function requestFunding(
  deps: AskForFundsDeps,
  account: AccountRow,
  args: z.output<typeof requestFundingBody>,
): Promise<Outcome<FundingRequestView | null>> {
  const read = readAmount(args.amount)
  if (read.kind === 'refused') return read
  const owner = await findAccountByRow(deps.db, account)
  if (owner?.status === 'closed') return accountClosed(owner)
  const order = { account, amount_nano: read.amount, note: args.note, at: deps.clock.now() }
  const detail = inUsd(read.amount)
  await deps.auditLog.act({ action: 'funds_asked', account, detail }, [fundingRequestPut(deps.db, order)])
  // Read back: a credit may have answered it in the same moment.
  return done(await openFundingRequest(deps, account))
}

/**
 * Who has asked for funds and not got any, those who have waited longest first. A page is named by a number, because the
 * wish at its end may be answered before somebody turns it.
 */
export async function listFundingRequests(
  deps: { readonly db: LedgerDb },
  { after, limit }: PageQuery,
): Promise<Outcome<Page<z.output<typeof fundingRequest>>>> {
  const shown = readCursor(after) ?? 0
  if (typeof shown !== 'number') return shown
  const read = await listOpenFundingRequests(deps.db, { after: shown, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ row }) => row)
  const items = rows.map((row) => ({ account: row.account_id, email: row.email, ...fundingRequestView(row) }))
  return done({ items, next: writeCursor(next) })
}
