import { z } from 'zod'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd, inUsd } from '../model/money.ts'
import { findAccountByRow } from '../store/accounts.ts'
import { codeClaim, findCodeByDigest, type StoredCode } from '../store/codes.ts'
import { type WalletView, walletView } from './account-view.ts'
import { readCodeText } from './code-text.ts'
import { type CreditCodeDeps, creditCode } from './credit-code.ts'
import { isoTime } from './iso-time.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import type { RedeemTries } from './redeem-tries.ts'
import type { Trail } from './trail.ts'

export const redeemCodeArgs = z.strictObject({ code: z.string() })

export interface RedeemCodeDeps extends CreditCodeDeps {
  readonly digestCode: (letters: string) => Uint8Array
  readonly redeemTries: RedeemTries
  readonly trail: Trail
}

export interface Redeemed {
  readonly amount: string
  readonly wallet: WalletView
}

/**
 * Exactly once, whoever else has the same slip of paper: one update of its row says whose it is, and only then is it made
 * money of, under a reference that counts once; the one try with which that moved money is told so. What was claimed and not credited, because of a crash or a lost batch, is
 * completed by the next try of the same account, or by the next start (`finish-redemptions.ts`).
 */
export async function redeemCode(
  deps: RedeemCodeDeps,
  account: AccountRow,
  args: z.output<typeof redeemCodeArgs>,
): Promise<Outcome<Redeemed>> {
  const mayNot = await refusalOf(deps, account)
  if (mayNot !== undefined) return mayNot
  const read = readCodeText(args.code)
  // It says nothing about any code, so it is no try.
  if (read.kind === 'mistyped') {
    return refused(
      'code_mistyped',
      'A letter of this code is wrong, missing or in the wrong place. Compare it once more.',
    )
  }
  const waitSeconds = deps.redeemTries.take(account)
  if (waitSeconds !== undefined) return tooManyTries(waitSeconds)
  const outcome = await claimAndCredit(deps, account, deps.digestCode(read.letters))
  // One's own code is no guess, however often it is tried.
  if (outcome.kind === 'done' || outcome.reason === 'code_redeemed') deps.redeemTries.giveBack(account)
  return outcome
}

async function refusalOf(deps: RedeemCodeDeps, row: AccountRow): Promise<Refused | undefined> {
  const account = await findAccountByRow(deps.db, row)
  if (account?.status === 'active') return undefined
  return account?.status === 'suspended'
    ? refused('account_suspended', 'This account is suspended; it cannot redeem codes.')
    : refused('account_closed', 'This account is closed; it cannot redeem codes.')
}

async function claimAndCredit(
  deps: RedeemCodeDeps,
  account: AccountRow,
  digest: Uint8Array,
): Promise<Outcome<Redeemed>> {
  const found = await findCodeByDigest(deps.db, digest)
  if (found?.redeemed_by === null) await claim(deps, account, found)
  const code = await findCodeByDigest(deps.db, digest)
  if (code === undefined || code.redeemed_by !== account) return NOT_YOURS
  if (code.credited_at !== null) return redeemedBefore(code)
  const credit = await creditCode(deps, code, account)
  if (credit.kind === 'refused') return credit
  // Of all that ask in the same moment, one has moved the money, and that one is told so.
  if (credit.kind === 'exists') return redeemedBefore(code)
  return done({ amount: formatUsd(code.amount_nano), wallet: walletView(credit.standing) })
}

/** Whose it is, and the line of the trail that says so, are one step: whatever happens to the rest of it, both stand. */
async function claim({ db, trail, clock }: RedeemCodeDeps, account: AccountRow, code: StoredCode): Promise<void> {
  const detail = `${inUsd(code.amount_nano)}, ${code.shown}`
  const act = { action: 'code_redeemed', target: code.id, account, detail } as const
  await trail.act(act, [codeClaim(db, code.row, { account, at: clock.now() })])
}

const redeemedBefore = ({ redeemed_at }: StoredCode): Refused =>
  refused('code_redeemed', `You have redeemed this code already, on ${isoTime(redeemed_at ?? 0)}.`)

/** The same words for all of these: whoever tries codes learns nothing about those of others. */
const NOT_YOURS = refused(
  'code_not_found',
  'This code cannot be redeemed: there is none like it, or it has expired, was withdrawn, or was redeemed by somebody else.',
)

const tooManyTries = (seconds: number): Refused =>
  refused('too_many_tries', `Too many codes were tried. The next one may be tried in ${seconds} seconds.`, {
    retryAfter: seconds,
  })
