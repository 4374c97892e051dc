import type { z } from 'zod'
import { CODE_REF, type codeItem, type createCodesBody } from '../contract/operate.ts'
import type { redeemBody } from '../contract/owner.ts'
import type { PageQuery } from '../contract/values.ts'
import {
  type CodeWithAccount,
  codeClaim,
  codesInsert,
  codeWithdrawal,
  findAccountByRow,
  findCodeByDigest,
  findCodeById,
  listClaimedCodes,
  listCodePage,
  type StoredCode,
  setCodeCredited,
} from '../db/accounts.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { type AccountRow, mintBatchId, mintCodeId } from '../model/ids.ts'
import { formatUsd, inUsd, type NanoUsd } from '../model/money.ts'
import { type OneAccount, resolveAccount, walletView } from './accounts.ts'
import { done, ifDone, type OperationRefused, type RefusalReason, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { cutPage, isoTime, isoTimeOrNull, NEWEST, parseExpiry, quoted, readAmount, unreadableMoment } from './values.ts'

/** Creates all codes or none. `by` is stored as their creator. */
export async function createCodes(
  { auditLog, clock, random, digestCode }: AdminServices,
  args: z.output<typeof createCodesBody>,
  by = 'operator',
) {
  const read = readAmount(args.amount)
  if (read.kind === 'refused') return read
  const now = clock.now()
  const expiresAt = args.expires == null ? null : parseExpiry(args.expires, now)
  if (expiresAt === undefined) return unreadableMoment(args.expires ?? '', 'expires')
  const batch = mintBatchId(random)
  const made = Array.from({ length: args.count }, () => {
    const { text, letters } = mintCodeText(random)
    const row = {
      ...{ id: mintCodeId(random), digest: digestCode(letters), shown: shownCode(text), batch },
      ...{ amount_nano: read.amount, note: args.note, created_at: now, created_by: by, expires_at: expiresAt },
    }
    return { secret: text, row }
  })
  const detail = `${made.length} of ${inUsd(read.amount)} each: ${args.note}`
  await auditLog.act({ action: 'code_created', target: batch, detail }, [codesInsert(made.map(({ row }) => row))])
  return done({ items: made.map(({ secret, row }) => ({ code: codeView({ ...row, ...NEW_CODE }, now), secret })) })
}

const NEW_CODE = {
  ...{ row: 0, withdrawn_at: null, redeemed_by: null, redeemed_at: null, credited_at: null, redeemer: null },
}

/** A code for the operator, without its text, which is stored nowhere. */
const codeView = (code: CodeWithAccount, now: number): z.output<typeof codeItem> => ({
  id: code.id,
  shown: code.shown,
  amount: formatUsd(code.amount_nano),
  note: code.note,
  created_at: isoTime(code.created_at),
  expires_at: isoTimeOrNull(code.expires_at),
  state: stateOf(code, now),
  redeemed_by: code.redeemer,
  redeemed_at: isoTimeOrNull(code.redeemed_at),
})

function stateOf(code: CodeWithAccount, now: number) {
  if (code.redeemed_at !== null) return 'redeemed'
  if (code.withdrawn_at !== null) return 'withdrawn'
  return code.expires_at !== null && code.expires_at <= now ? 'expired' : 'open'
}

/** Newest first, redeemed and withdrawn ones included. A page starts after the code of the cursor. */
export async function listCodes({ db, clock }: AdminServices, { after, limit }: PageQuery) {
  const last = after === undefined ? undefined : await findCodeById(db, after)
  if (after !== undefined && last === undefined) return unknownCode(after)
  const read = await listCodePage(db, { before: last?.row ?? NEWEST, limit: limit + 1 })
  const { rows, next } = cutPage(read, limit, ({ id }) => id)
  const now = clock.now()
  return done({ items: rows.map((row) => codeView(row, now)), next })
}

const unknownCode = (id: string): OperationRefused =>
  refuseOperation('code_not_found', `There is no code ${quoted(id)}. See: millrace codes list`)

/** Withdraws an unredeemed code, by its id or its text. It succeeds if the code is already withdrawn. */
export async function withdrawCode(
  { db, clock, auditLog, digestCode }: AdminServices,
  { code: named }: { readonly code: string },
) {
  const letters = readCodeText(named)
  const found = await (letters === undefined ? findCodeById(db, named) : findCodeByDigest(db, digestCode(letters)))
  if (found === undefined) {
    // The text of a code, even mistyped, must not appear in a message or a log.
    if (named.startsWith('code_')) return unknownCode(named)
    return refuseOperation('code_not_found', 'There is no such code. See: millrace codes list')
  }
  const detail = `${found.shown}, ${inUsd(found.amount_nano)}`
  const entry = { action: 'code_withdrawn', target: found.id, detail } as const
  await auditLog.act(entry, [codeWithdrawal(found.row, clock.now())])
  const after = await findCodeById(db, found.id)
  if (after === undefined) throw new Error(`Code ${found.id} is missing after it was withdrawn`)
  if (after.redeemed_by === null) return done(codeView({ ...after, redeemer: null }, clock.now()))
  const redeemer = await findAccountByRow(db, after.redeemed_by)
  const message = `${after.id} was already redeemed by ${redeemer?.id}. To take the money back: millrace wallet adjust`
  return refuseOperation('code_redeemed', message)
}

type CreditServices = Pick<AdminServices, 'db' | 'clock'> & { readonly ledger: Pick<Ledger, 'credit'> }
type RedeemServices = CreditServices & Pick<AdminServices, 'digestCode' | 'redeemTries' | 'auditLog'>

/** The account's own codes are not guesses. */
const OWN_CODE: ReadonlySet<RefusalReason> = new Set(['code_redeemed', 'wallet_full'])

/**
 * Redeems a code exactly once: one update claims its row for the account, then the ledger credits it under a reference that
 * counts once. A claim without a credit, after a crash or a failed batch, is completed by the next try of the account or by
 * the next start (`finishRedemptions`).
 */
export async function redeemCode(services: RedeemServices, account: AccountRow, args: z.output<typeof redeemBody>) {
  const owner = await findAccountByRow(services.db, account)
  if (owner?.status === 'suspended') {
    return refuseOperation('account_suspended', 'This account is suspended and cannot redeem codes.')
  }
  if (owner?.status !== 'active')
    return refuseOperation('account_closed', 'This account is closed and cannot redeem codes.')
  const letters = readCodeText(args.code)
  // A mistyped code reveals nothing about any code, so it does not count as a try.
  if (letters === undefined) {
    const message = 'A character of this code is wrong, missing or misplaced. Check it and enter it again.'
    return refuseOperation('code_mistyped', message, { param: 'code' })
  }
  const waitSeconds = services.redeemTries.take(account)
  if (waitSeconds !== undefined) {
    const message = `Too many codes were tried. The next one may be tried in ${waitSeconds} seconds.`
    return refuseOperation('too_many_tries', message, { retryAfterSeconds: waitSeconds })
  }
  const outcome = await claimAndCredit(services, account, services.digestCode(letters))
  if (outcome.kind === 'done' || OWN_CODE.has(outcome.reason)) services.redeemTries.giveBack(account)
  return outcome
}

async function claimAndCredit(services: RedeemServices, account: AccountRow, digest: Uint8Array) {
  const { db, auditLog, clock } = services
  const found = await findCodeByDigest(db, digest)
  if (found?.redeemed_by === null) {
    // The claim and its audit entry are one transaction.
    const detail = `${inUsd(found.amount_nano)}, ${found.shown}`
    const entry = { action: 'code_redeemed', target: found.id, account, detail } as const
    await auditLog.act(entry, [codeClaim(found.row, { account, at: clock.now() })])
  }
  const code = await findCodeByDigest(db, digest)
  if (code === undefined || code.redeemed_by !== account) return NOT_REDEEMABLE
  if (code.credited_at !== null) return redeemedBefore(code)
  const credit = await creditCode(services, code, account)
  if (credit.kind === 'refused') return credit
  // Of several concurrent tries, only the one that moved the money succeeds.
  if (credit.kind === 'exists') return redeemedBefore(code)
  return done({ amount: formatUsd(code.amount_nano), wallet: walletView(credit.status) })
}

const redeemedBefore = ({ redeemed_at }: StoredCode): OperationRefused =>
  refuseOperation('code_redeemed', `You already redeemed this code on ${isoTime(redeemed_at ?? 0)}.`, { param: 'code' })

/** One message for all of these cases, so that guesses reveal nothing about codes of others. */
const NOT_REDEEMABLE = refuseOperation(
  'code_not_found',
  'This code cannot be redeemed: it does not exist, has expired, was withdrawn, or was redeemed by another account.',
  { param: 'code' },
)

/** Redeems a code on behalf of an account, under the same rules. */
export const redeemCodeFor = (services: RedeemServices, { account, code }: z.output<typeof redeemBody> & OneAccount) =>
  ifDone(resolveAccount(services, account), ({ row, id, email }) =>
    ifDone(redeemCode(services, row as AccountRow, { code }), (redeemed) => done({ account: id, email, ...redeemed })),
  )

/**
 * Credits a claimed code; `exists`: it was already credited. The reference counts once in the ledger, so this is repeated after
 * any failure until the credit is durable. No other account can claim the code meanwhile.
 */
async function creditCode({ db, clock, ledger }: CreditServices, code: StoredCode, account: AccountRow) {
  const outcome = await ledger.credit({
    ...{ account, kind: 'credit', amount: code.amount_nano as NanoUsd },
    ...{ reason: `Redeemed code ${code.shown}`, ref: `${CODE_REF}${code.id}` },
  })
  switch (outcome.kind) {
    case 'credited':
    case 'exists':
      await setCodeCredited(db, code.row, clock.now())
      return outcome
    case 'too-much': {
      const message = `The wallet cannot hold more than ${inUsd(outcome.most)}. The code stays reserved for this account: redeem it again when there is room.`
      return refuseOperation('wallet_full', message)
    }
    default:
      throw new Error(`The credit of ${code.id} ended as ${outcome.kind}, which a code's own reference cannot cause`)
  }
}

const PAGE = 500

/**
 * Credits the codes that were claimed and not credited when the last process ended. Returns how many. `onUnfinished`: a credit
 * failed again; the next start retries it.
 */
export async function finishRedemptions(
  options: CreditServices & {
    /** Later ones may be on their way at another node. */
    readonly redeemedBefore?: number
    readonly onUnfinished: (code: string, reason: unknown) => void
  },
): Promise<number> {
  let finished = 0
  for (let after = 0; ; ) {
    const page = await listClaimedCodes(options.db, { after, limit: PAGE })
    for (const code of page) {
      if ((code.redeemed_at ?? 0) >= (options.redeemedBefore ?? Number.POSITIVE_INFINITY)) continue
      try {
        const outcome = await creditCode(options, code, code.redeemed_by as AccountRow)
        if (outcome.kind === 'refused') options.onUnfinished(code.id, outcome.message)
        else finished++
      } catch (error) {
        options.onUnfinished(code.id, error)
      }
    }
    if (page.length < PAGE) return finished
    after = page.at(-1)!.row
  }
}

/**
 * `MR-` and five groups of five letters: 24 random ones (120 bits) and a checksum. Crockford's alphabet has no I, L, O or U;
 * the first three are read as 1, 1 and 0.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const PREFIX = 'MR'
const RANDOM_LETTERS = 24
const GROUP = /.{5}(?=.)/g
/** Spaces, hyphens and dashes, as typed or pasted. */
const SEPARATOR = /[\s\u2010-\u2015-]/g
/** A code has 31 characters with its separators. */
const TEXT_MAX = 100

/** `text` is given to the customer; `letters` are digested. */
export function mintCodeText(random: RandomBytes): { readonly text: string; readonly letters: string } {
  const values = [...random(RANDOM_LETTERS)].map((byte) => byte & 31)
  const letters = [...values, checksumOf(values)].map((value) => ALPHABET[value]).join('')
  return { text: `${PREFIX}-${letters.replace(GROUP, '$&-')}`, letters }
}

/** The letters to digest; undefined if one is wrong, missing or misplaced. */
export function readCodeText(text: string): string | undefined {
  if (text.length > TEXT_MAX) return undefined
  const whole = text.replace(SEPARATOR, '').toUpperCase()
  const hasPrefix = whole.length > RANDOM_LETTERS + 1 && whole.startsWith(PREFIX)
  const letters = (hasPrefix ? whole.slice(PREFIX.length) : whole).replaceAll('O', '0').replace(/[IL]/g, '1')
  const values = [...letters].map((letter) => ALPHABET.indexOf(letter))
  const fits = values.length === RANDOM_LETTERS + 1 && !values.includes(-1)
  return fits && checksumOf(values.slice(0, -1)) === values.at(-1) ? letters : undefined
}

/** The beginning and the end: too little to guess the rest. */
export const shownCode = (text: string): string => `${text.slice(0, 8)}...${text.slice(-4)}`

/**
 * A weighted sum in the field of 32 elements. Each position has its own weight, so that one wrong letter or two swapped
 * letters always change it. (31 weights allow for 31 letters.)
 */
const checksumOf = (values: readonly number[]): number => values.reduce((sum, value) => timesX(sum ^ value), 0)

/** Times x, modulo x⁵ + x² + 1, of which x generates all elements but zero. */
const timesX = (value: number): number => (value << 1) ^ (value & 16 ? 0b100101 : 0)
