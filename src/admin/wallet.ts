import type { z } from 'zod'
import type { creditBody } from '../contract/operate.ts'
import type { requestFundingBody } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import {
  findAccountByRow,
  findOpenFundingRequest,
  fundingRequestPut,
  listOpenFundingRequests,
  type StoredAccount,
  type StoredFundingRequest,
} from '../db/accounts.ts'
import { sumRunning } from '../db/receipts.ts'
import type { CreditOrder, CreditOutcome } from '../ledger/ledger.ts'
import { assertNever } from '../lib/types.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd, inUsd, type NanoUsd, parseUsd } from '../model/money.ts'
import { accountClosed, type OneAccount, resolveAccount, resolveOpenAccount, walletOf, walletView } from './accounts.ts'
import { applyOrder } from './audit.ts'
import { done, ifDone, refuseOperation } from './outcome.ts'
import type { AdminServices, DbService } from './services.ts'
import { isoTime, readAmount, readPage } from './values.ts'

type MoveArgs = z.output<typeof creditBody> & OneAccount

export const creditWallet = (services: AdminServices, args: MoveArgs) => moveMoney(services, args, 'credit', 1n)

/** Takes money back out: at most what is not held. */
export const refundWallet = (services: AdminServices, args: MoveArgs) => moveMoney(services, args, 'refund', -1n)

/** Corrects a mistake in either direction. */
export const adjustWallet = (
  services: AdminServices,
  { direction, ...args }: MoveArgs & { readonly direction: 'add' | 'take' },
) => moveMoney(services, args, 'adjustment', direction === 'add' ? 1n : -1n)

async function moveMoney(services: AdminServices, args: MoveArgs, kind: CreditOrder['kind'], sign: 1n | -1n) {
  const written = parseUsd(args.amount)
  if (written === undefined || written <= 0n) {
    const message = `${JSON.stringify(args.amount)} is not an amount: write USD above zero with at most 9 decimals, e.g. 10.00`
    return refuseOperation('invalid_amount', message, { param: 'amount' })
  }
  const amount = (written * sign) as NanoUsd
  const resolved = await resolveOpenAccount(services, args.account)
  if (resolved.kind === 'refused') return resolved
  const { value: account } = resolved
  const { reason, ref } = args
  // The reason comes last, because the audit log cuts long text.
  const detail = `${inUsd(amount)} (${ref}): ${reason}`
  const order = { action: 'wallet_ordered', target: account.id, account: account.row, detail } as const
  return applyOrder(services, order, async () => {
    const moved = await services.ledger.credit({ account: account.row as AccountRow, kind, amount, reason, ref })
    const outcome = outcomeOf(moved, { account, amount, reason, ref })
    return moved.kind === 'exists' ? { outcome, void: 'counted before' } : { outcome }
  })
}

interface Move {
  readonly account: StoredAccount
  /** Negative when money was taken out. */
  readonly amount: NanoUsd
  readonly reason: string
  readonly ref: string
}

function outcomeOf(moved: CreditOutcome, { account, amount, reason, ref }: Move) {
  switch (moved.kind) {
    case 'credited':
    case 'exists':
      return done({
        ...{ account: account.id, email: account.email, amount: formatUsd(amount), ref, reason },
        /** The reference was known with this amount: no money was moved. */
        repeated: moved.kind === 'exists',
        ...walletView(moved.status),
      })
    case 'ref-taken': {
      const message = `Reference ${JSON.stringify(ref)} of ${account.email} was already used for ${inUsd(moved.amount)}. Use another.`
      return refuseOperation('ref_taken', message, { param: 'ref' })
    }
    case 'short': {
      const available = inUsd(moved.status.available)
      const message = `The wallet has ${available} that is not held by running requests. Nothing was taken.`
      return refuseOperation('balance_too_small', message, { param: 'amount' })
    }
    case 'too-much': {
      const holder = moved.holder === 'wallet' ? 'One wallet holds' : 'All wallets and earnings together hold'
      const message = `${holder} at most ${inUsd(moved.most)}. Nothing was added.`
      return refuseOperation('invalid_amount', message, { param: 'amount' })
    }
    default:
      return assertNever(moved)
  }
}

export const showWallet = (services: AdminServices, args: OneAccount) =>
  ifDone(resolveAccount(services, args.account), async ({ id, email, row }) =>
    done({ account: id, email, currency: 'USD' as const, ...(await walletOf(services.ledger, row)) }),
  )

/** A wallet as the next admission sees it, with its running requests and its open funding request. */
export async function walletBalance(services: Pick<AdminServices, 'db' | 'ledger'>, account: AccountRow) {
  const { requests: running } = await sumRunning(services.db, account, 'wallet')
  const wallet = await walletOf(services.ledger, account)
  return { ...wallet, running, asked: await openFundingRequest(services, account) }
}

const fundingRequestView = ({ amount_nano, note, at }: StoredFundingRequest) => ({
  ...{ amount: formatUsd(amount_nano), note, at: isoTime(at) },
})

/** Null if there is none, or a credit has answered it. */
export async function openFundingRequest({ db }: DbService, account: AccountRow) {
  const open = await findOpenFundingRequest(db, account)
  return open === undefined ? null : fundingRequestView(open)
}

/**
 * Asks the operator for funds, where no card can be charged. The next credit answers it. A repeated request replaces the
 * open one, so that one account cannot fill the operator's list.
 */
export async function requestFunding(
  { db, clock, auditLog }: AdminServices,
  account: AccountRow,
  args: z.output<typeof requestFundingBody>,
) {
  const read = readAmount(args.amount)
  if (read.kind === 'refused') return read
  const owner = await findAccountByRow(db, account)
  if (owner?.status === 'closed') return accountClosed(owner)
  const order = { account, amount_nano: read.amount, note: args.note, at: clock.now() }
  const detail = inUsd(read.amount)
  await auditLog.act({ action: 'funds_asked', account, detail }, [fundingRequestPut(order)])
  // Read again: a concurrent credit may have answered it.
  return done(await openFundingRequest({ db }, account))
}

/** Open funding requests, the oldest first. The cursor is a number, because the last request of a page may be answered. */
export const listFundingRequests = ({ db }: DbService, page: PageQuery) =>
  readPage(page, {
    first: 0,
    read: (after, limit) => listOpenFundingRequests(db, { after, limit }),
    numberOf: ({ row }) => row,
    view: (row) => ({ account: row.account_id, email: row.email, ...fundingRequestView(row) }),
  })
