import type { z } from 'zod'
import type { codeItem, createCodesBody, madeCodes } from '../contract/operate.ts'
import type { PageQuery } from '../contract/values.ts'
import { findAccountByRow } from '../db/accounts.ts'
import {
  type CodeWithAccount,
  codesInsert,
  codeWithdrawal,
  findCodeByDigest,
  findCodeById,
  listCodePage,
  type NewCode,
  type StoredCode,
} from '../db/codes.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { mintBatchId, mintCodeId } from '../model/ids.ts'
import { formatUsd, inUsd } from '../model/money.ts'
import type { ActorLog } from './audit.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import {
  cutPage,
  isoTime,
  isoTimeOrNull,
  type Page,
  parseExpiry,
  quoted,
  readAmount,
  unreadableMoment,
} from './values.ts'

export interface CreateCodesDeps {
  readonly auditLog: ActorLog
  readonly clock: Clock
  readonly random: RandomBytes
  /** Of the letters of a code, under a key of the ring. */
  readonly digestCode: (letters: string) => Uint8Array
}

/** Makes all of them or none. `by` says who did, for the operator's records. */
export async function createCodes(
  deps: CreateCodesDeps,
  args: z.output<typeof createCodesBody>,
  by = 'operator',
): Promise<Outcome<z.output<typeof madeCodes>>> {
  const read = readAmount(args.amount)
  if (read.kind === 'refused') return read
  const now = deps.clock.now()
  const expiresAt = args.expires == null ? null : parseExpiry(args.expires, now)
  if (expiresAt === undefined) return unreadableMoment(args.expires ?? '', 'expires')
  const shared = { batch: mintBatchId(deps.random), amount_nano: read.amount, note: args.note, created_at: now }
  const made = Array.from({ length: args.count }, () => {
    const code = mintCodeText(deps.random)
    return { secret: code.text, row: { ...shared, ...own(deps, code), created_by: by, expires_at: expiresAt } }
  })
  const rows = made.map(({ row }) => row)
  const detail = `${rows.length} of ${inUsd(read.amount)} each: ${args.note}`
  await deps.auditLog.act({ action: 'code_created', target: shared.batch, detail }, [codesInsert(rows)])
  return done({ items: made.map(({ secret, row }) => ({ code: codeView({ ...row, ...UNTOUCHED }, now), secret })) })
}

const own = (
  { random, digestCode }: CreateCodesDeps,
  { text, letters }: CodeText,
): Pick<NewCode, 'id' | 'digest' | 'shown'> => ({
  id: mintCodeId(random),
  digest: digestCode(letters),
  shown: shownCode(text),
})

const UNTOUCHED = {
  ...{ row: 0, withdrawn_at: null, redeemed_by: null, redeemed_at: null, credited_at: null, redeemer: null },
}

/** A code as the operator sees it: never its text, which is stored nowhere. */
type CodeView = z.output<typeof codeItem>

const codeView = (code: CodeWithAccount, now: number): CodeView => ({
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

/** What has happened to it is said before what time has done. */
function stateOf(code: CodeWithAccount, now: number): CodeView['state'] {
  if (code.redeemed_at !== null) return 'redeemed'
  if (code.withdrawn_at !== null) return 'withdrawn'
  return code.expires_at !== null && code.expires_at <= now ? 'expired' : 'open'
}

/** Newest first, redeemed and withdrawn ones included. A page begins after the code it names. */
export async function listCodes(
  deps: { readonly db: LedgerDb; readonly clock: Clock },
  { after, limit }: PageQuery,
): Promise<Outcome<Page<CodeView>>> {
  const last = after === undefined ? undefined : await findCodeById(deps.db, after)
  if (after !== undefined && last === undefined) return noSuchCode(after)
  const before = last?.row ?? Number.MAX_SAFE_INTEGER
  const { rows, next } = cutPage(await listCodePage(deps.db, { before, limit: limit + 1 }), limit, ({ id }) => id)
  const now = deps.clock.now()
  return done({ items: rows.map((row) => codeView(row, now)), next })
}

const noSuchCode = (id: string): Refused =>
  refused('code_not_found', `There is no code ${quoted(id)}. See: millrace codes list`)

interface OneCode {
  /** The id, or the text itself: whoever finds a code in the wrong place has only that. */
  readonly code: string
}

export interface WithdrawCodeDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly auditLog: ActorLog
  readonly digestCode: (letters: string) => Uint8Array
}

/** A code that nobody has redeemed yet is worth nothing from now on. Withdrawing twice is what a lost answer leads to. */
export async function withdrawCode(deps: WithdrawCodeDeps, args: OneCode): Promise<Outcome<CodeView>> {
  const found = await findNamed(deps, args.code)
  if (found === undefined) {
    // The text of a code must not be said again in a message or a log, not even one that is mistyped.
    if (args.code.startsWith('code_')) return noSuchCode(args.code)
    return refused('code_not_found', 'There is no such code. See: millrace codes list')
  }
  const detail = `${found.shown}, ${inUsd(found.amount_nano)}`
  await deps.auditLog.act({ action: 'code_withdrawn', target: found.id, detail }, [
    codeWithdrawal(deps.db, found.row, deps.clock.now()),
  ])
  const after = await findCodeById(deps.db, found.id)
  if (after === undefined) throw new Error(`Code ${found.id} is not there after it was withdrawn`)
  if (after.redeemed_by === null) return done(codeView({ ...after, redeemer: null }, deps.clock.now()))
  const redeemer = await findAccountByRow(deps.db, after.redeemed_by)
  return refused(
    'code_redeemed',
    `${after.id} is redeemed already, by ${redeemer?.id}. To take it back: millrace wallet adjust`,
  )
}

async function findNamed(deps: WithdrawCodeDeps, named: string): Promise<StoredCode | undefined> {
  const read = readCodeText(named)
  return read.kind === 'code' ? findCodeByDigest(deps.db, deps.digestCode(read.letters)) : findCodeById(deps.db, named)
}

/**
 * `MR-` and five groups of five letters: 24 random ones, 120 bits, and one that checks them. Crockford's alphabet has no I,
 * L, O or U; the first three are read as what they were meant to be.
 */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const PREFIX = 'MR'
const RANDOM_LETTERS = 24
const GROUP = /.{5}(?=.)/g
/** Spaces, hyphens and dashes, however somebody has typed or pasted them. */
const BETWEEN = /[\s\u2010-\u2015-]/g
/** Written with care a code has 31 characters; nothing that is much longer is one. */
const TEXT_MAX = 100

interface CodeText {
  /** As it is handed out. */
  readonly text: string
  /** What its digest is made of. */
  readonly letters: string
}

type ReadCode =
  | { readonly kind: 'code'; readonly letters: string }
  /** Certainly no code of anybody: a letter is wrong, missing or in the wrong place. */
  | { readonly kind: 'mistyped' }

export function mintCodeText(random: RandomBytes): CodeText {
  const values = [...random(RANDOM_LETTERS)].map((byte) => byte & 31)
  const letters = [...values, checkOf(values)].map((value) => ALPHABET[value]).join('')
  return { text: `${PREFIX}-${letters.replace(GROUP, '$&-')}`, letters }
}

export function readCodeText(text: string): ReadCode {
  if (text.length > TEXT_MAX) return { kind: 'mistyped' }
  const whole = text.replace(BETWEEN, '').toUpperCase()
  const hasPrefix = whole.length > RANDOM_LETTERS + 1 && whole.startsWith(PREFIX)
  const letters = (hasPrefix ? whole.slice(PREFIX.length) : whole).replaceAll('O', '0').replace(/[IL]/g, '1')
  const values = [...letters].map((letter) => ALPHABET.indexOf(letter))
  const fits = values.length === RANDOM_LETTERS + 1 && !values.includes(-1)
  return fits && checkOf(values.slice(0, -1)) === values.at(-1) ? { kind: 'code', letters } : { kind: 'mistyped' }
}

/** What a person recognises it by: too little to guess the rest from. */
export const shownCode = (text: string): string => `${text.slice(0, 8)}...${text.slice(-4)}`

/**
 * A sum in the field of 32 elements in which every place weighs otherwise, so that one wrong letter or two that changed
 * places never give the same. (With 31 weights there is room for 31 letters.)
 */
const checkOf = (values: readonly number[]): number => values.reduce((sum, value) => twice(sum ^ value), 0)

/** Times x, modulo x⁵ + x² + 1, of which x generates all elements but zero. */
const twice = (value: number): number => (value << 1) ^ (value & 16 ? 0b100101 : 0)
