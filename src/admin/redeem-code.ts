import type { z } from 'zod'
import { CODE_REF } from '../contract/operate.ts'
import type { redeemBody } from '../contract/owner.ts'
import { findAccountByRow } from '../db/accounts.ts'
import { codeClaim, findCodeByDigest, listClaimedCodes, type StoredCode, setCodeCredited } from '../db/codes.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { AccountStatusReport, Ledger } from '../ledger/ledger.ts'
import { type Clock, wholeSeconds } from '../lib/clock.ts'
import { createLruMap } from '../lib/lru-map.ts'
import { type RateRule, takeBackOne, takeFromRate } from '../lib/rates.ts'
import type { AccountRow } from '../model/ids.ts'
import { formatUsd, inUsd, type NanoUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount, type WalletView, walletView } from './accounts.ts'
import type { ActorLog } from './audit.ts'
import { readCodeText } from './codes.ts'
import { done, type Outcome, type RefusalReason, type Refused, refused } from './outcome.ts'
import { isoTime } from './values.ts'

/** How often an account may try a code that turns out to be none of its own. */
interface RedeemTries {
  /** Undefined when it may; else in how many whole seconds it may again. */
  take(account: AccountRow): number | undefined
  /** The try was a good one: who has a stack of codes is not guessing. */
  giveBack(account: AccountRow): void
}

/** Ten at once, and one more every six minutes. */
const RULE: RateRule = { perMinute: 10 / 60, burst: 10 }
/** Accounts that tried lately; those that have been quiet longest are forgotten beyond it. */
const ACCOUNTS_MAX = 10_000

/** In memory: a restart forgets it, which nobody can bring about who has only codes to try. */
export function createRedeemTries(deps: { readonly nowMicros: () => number }): RedeemTries {
  const reachedAt = createLruMap<AccountRow, number>(ACCOUNTS_MAX)
  return {
    take(account) {
      const now = deps.nowMicros()
      const decision = takeFromRate(RULE, reachedAt.get(account) ?? now, 1, now)
      if (decision.kind !== 'taken') return decision.kind === 'wait' ? wholeSeconds(decision.waitMs) : 1
      reachedAt.set(account, decision.reachedAt)
      return undefined
    },
    giveBack(account) {
      const reached = reachedAt.get(account)
      if (reached !== undefined) reachedAt.set(account, takeBackOne(RULE, reached))
    },
  }
}

export interface RedeemCodeDeps extends CreditCodeDeps {
  readonly digestCode: (letters: string) => Uint8Array
  readonly redeemTries: RedeemTries
  readonly auditLog: ActorLog
}

interface Redeemed {
  readonly amount: string
  readonly wallet: WalletView
}

/**
 * Exactly once, whoever else has the same slip of paper: one update of its row says whose it is, and only then is it made
 * money of, under a reference that counts once; the one try with which that moved money is told so. What was claimed and not
 * credited, because of a crash or a lost batch, is completed by the next try of the same account, or by the next start
 * (`finishRedemptions`).
 */
export async function redeemCode(
  deps: RedeemCodeDeps,
  account: AccountRow,
  args: z.output<typeof redeemBody>,
): Promise<Outcome<Redeemed>> {
  const mayNot = await refusalOf(deps, account)
  if (mayNot !== undefined) return mayNot
  const read = readCodeText(args.code)
  // It says nothing about any code, so it is no try.
  if (read.kind === 'mistyped') {
    return refused(
      'code_mistyped',
      'A letter of this code is wrong, missing or in the wrong place. Compare it once more.',
      { param: 'code' },
    )
  }
  const waitSeconds = deps.redeemTries.take(account)
  if (waitSeconds !== undefined) return tooManyTries(waitSeconds)
  const outcome = await claimAndCredit(deps, account, deps.digestCode(read.letters))
  if (outcome.kind === 'done' || OWN_CODE.has(outcome.reason)) deps.redeemTries.giveBack(account)
  return outcome
}

/** One's own code is no guess, however often it is tried: neither before there is room for it, nor afterwards. */
const OWN_CODE: ReadonlySet<RefusalReason> = new Set(['code_redeemed', 'wallet_full'])

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
async function claim({ db, auditLog, clock }: RedeemCodeDeps, account: AccountRow, code: StoredCode): Promise<void> {
  const detail = `${inUsd(code.amount_nano)}, ${code.shown}`
  const act = { action: 'code_redeemed', target: code.id, account, detail } as const
  await auditLog.act(act, [codeClaim(db, code.row, { account, at: clock.now() })])
}

const redeemedBefore = ({ redeemed_at }: StoredCode): Refused =>
  refused('code_redeemed', `You have redeemed this code already, on ${isoTime(redeemed_at ?? 0)}.`, { param: 'code' })

/** The same words for all of these: whoever tries codes learns nothing about those of others. */
const NOT_YOURS = refused(
  'code_not_found',
  'This code cannot be redeemed: there is none like it, or it has expired, was withdrawn, or was redeemed by somebody else.',
  { param: 'code' },
)

const tooManyTries = (seconds: number): Refused =>
  refused('too_many_tries', `Too many codes were tried. The next one may be tried in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  })

interface RedeemedFor extends Redeemed {
  readonly account: string
  readonly email: string
}

/** By the operator, for somebody who reads a code out on the telephone; under the same rules. */
export async function redeemCodeFor(
  deps: RedeemCodeDeps,
  { account: named, code }: z.output<typeof redeemBody> & OneAccount,
): Promise<Outcome<RedeemedFor>> {
  const resolved = await resolveAccount(deps, named)
  if (resolved.kind === 'refused') return resolved
  const { row, id, email } = resolved.account
  const outcome = await redeemCode(deps, row as AccountRow, { code })
  return outcome.kind === 'done' ? { kind: 'done', value: { account: id, email, ...outcome.value } } : outcome
}

interface CreditCodeDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly ledger: Pick<Ledger, 'credit'>
}

/** `exists`: somebody else has made money of it already. */
interface CodeCredit {
  readonly kind: 'credited' | 'exists'
  readonly standing: AccountStatusReport
}

/**
 * Makes money of a code that an account has claimed. The reference counts once in the ledger, so this may be done again
 * after whatever went wrong in between, until it is known to be durable; nobody else can have the code meanwhile.
 */
async function creditCode(deps: CreditCodeDeps, code: StoredCode, account: AccountRow): Promise<CodeCredit | Refused> {
  const outcome = await deps.ledger.credit({
    ...{ account, kind: 'credit', amount: code.amount_nano as NanoUsd },
    ...{ reason: `Redeemed code ${code.shown}`, ref: `${CODE_REF}${code.id}` },
  })
  switch (outcome.kind) {
    case 'credited':
    case 'exists':
      await setCodeCredited(deps.db, code.row, deps.clock.now())
      return { kind: outcome.kind, standing: outcome.standing }
    case 'too-much':
      return refused(
        'wallet_full',
        `The wallet cannot hold more than ${inUsd(outcome.most)}. The code is kept for this account: redeem it again when there is room.`,
      )
    default:
      throw new Error(`The credit of ${code.id} came to ${outcome.kind}, which a code's own reference cannot`)
  }
}

interface FinishRedemptionsDeps extends CreditCodeDeps {
  /** Money that is somebody's and could not be credited now either; the next start tries again. */
  readonly onUnfinished: (code: string, reason: unknown) => void
}

const PAGE = 500

/** Credits the codes that a dead process had given to an account and not made money of. Returns how many. */
export async function finishRedemptions(deps: FinishRedemptionsDeps): Promise<number> {
  let finished = 0
  for (let after = 0; ; ) {
    const page = await listClaimedCodes(deps.db, { after, limit: PAGE })
    for (const code of page) if (await finish(deps, code)) finished++
    if (page.length < PAGE) return finished
    after = page.at(-1)!.row
  }
}

async function finish(deps: FinishRedemptionsDeps, code: StoredCode): Promise<boolean> {
  try {
    const outcome = await creditCode(deps, code, code.redeemed_by as AccountRow)
    if (outcome.kind !== 'refused') return true
    deps.onUnfinished(code.id, outcome.message)
  } catch (error) {
    deps.onUnfinished(code.id, error)
  }
  return false
}
