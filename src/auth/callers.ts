import { hash } from 'node:crypto'
import { findKeyByDigest, findKeyWithAccount, type KeyWithAccount } from '../db/keys.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/collections.ts'
import { assertNever } from '../lib/types.ts'
import { allowancesOfCaps } from '../model/allowance.ts'
import type { Caller, CallerPlan, LimitRates } from '../model/caller.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from '../model/ids.ts'
import { type Problem, problem } from '../model/problem.ts'
import { digestKey, KEY_LENGTH_MAX, readKey } from './secrets.ts'

export interface CallerFinder {
  /** Answers at once when the key was seen before: this is on every request's way. */
  find(token: string): CallerOutcome | Promise<CallerOutcome>
  /**
   * Judges a caller again that was found before: its key, account, plan and caps may have changed while its body came. Answers
   * at once, with the same object, while nothing of it has changed.
   */
  findAgain(caller: Caller): CallerOutcome | Promise<CallerOutcome>
  /** Counts the changes of keys and accounts: while the number stays, what was judged holds. */
  readonly changes: number
  /** After every change of a key, so that the next request sees it. */
  forget(key: KeyId): void
  /** After every change of an account, or of its subscription. */
  forgetAccount(account: AccountRow): void
  /** After every change of time. */
  forgetAll(): void
}

/** Keys that are in use at the same time; each takes about a kilobyte. */
const KNOWN_MAX = 10_000
/** Tokens that look like keys and are none: remembered shortly, so that a client in a loop does not reach the database. */
const UNKNOWN_MAX = 10_000
const UNKNOWN_MICROS = 5_000_000

const MALFORMED = { kind: 'refused', reason: 'malformed' } as const

export function createCallerFinder(deps: { db: LedgerDb; pepper: Uint8Array; clock: Clock }): CallerFinder {
  const { db, pepper, clock } = deps
  // All three know a key by its hash only: a dump of this memory holds nobody's secret.
  const known = createLruMap<string, KnownKey>(KNOWN_MAX)
  const unknownUntil = createLruMap<string, number>(UNKNOWN_MAX)
  const lookingUp = new Map<string, Promise<CallerOutcome>>()
  const secrets = new WeakMap<Caller, KnownSecret>()
  let changes = 0

  const judge = (key: KnownKey): CallerOutcome => judgeKey(key, clock.now())

  const lookUp = async (name: string, digest: Buffer): Promise<CallerOutcome> => {
    const changesBefore = changes
    const found = await findKeyByDigest(db, digest)
    const key = found && knownKeyOf(found, digest.equals(found.digest) ? 'present' : 'former')
    // What was read before a change must not be remembered after it: a revoked key would live on in the cache.
    if (key) rememberSecret(key, { name, digest })
    if (changes === changesBefore) {
      if (key) known.set(name, key)
      else unknownUntil.set(name, clock.nowMicros() + UNKNOWN_MICROS)
    }
    return key ? judge(key) : UNKNOWN
  }

  const rememberSecret = ({ outcome, lapsed }: KnownKey, secret: KnownSecret): void => {
    for (const each of [outcome, lapsed?.outcome]) if (each?.kind === 'caller') secrets.set(each.caller, secret)
  }

  const lookUpOnce = (name: string, digest: Buffer): Promise<CallerOutcome> => {
    const running = lookingUp.get(name)
    if (running) return running
    const started = lookUp(name, digest).finally(() => {
      if (lookingUp.get(name) === started) lookingUp.delete(name)
    })
    lookingUp.set(name, started)
    return started
  }

  /** A key of the playground has no secret. */
  const findByRow = async (caller: Caller): Promise<CallerOutcome> => {
    const found = await findKeyWithAccount(db, caller.key)
    return found ? judge(knownKeyOf(found, 'present')) : UNKNOWN
  }

  const forgetWhere = (concerns: (key: KnownKey) => boolean): void => {
    changes++
    lookingUp.clear()
    unknownUntil.clear()
    for (const [name, key] of known.entries()) if (concerns(key)) known.delete(name)
  }

  return {
    find(token) {
      if (token.length > KEY_LENGTH_MAX) return MALFORMED
      const name = nameOf(token)
      const key = known.get(name)
      if (key) return judge(key)
      if (readKey(token) === undefined) return MALFORMED
      const until = unknownUntil.get(name)
      if (until !== undefined && until > clock.nowMicros()) return UNKNOWN
      return lookUpOnce(name, digestKey(pepper, token))
    },
    findAgain(caller) {
      const secret = secrets.get(caller)
      if (secret === undefined) return findByRow(caller)
      const key = known.get(secret.name)
      return key ? judge(key) : lookUpOnce(secret.name, secret.digest)
    },
    get changes() {
      return changes
    },
    forget: (id) => forgetWhere((key) => key.id === id),
    forgetAccount: (account) => forgetWhere((key) => key.account === account),
    forgetAll: () => forgetWhere(() => true),
  }
}

/** By what a caller was found: the name in the cache, and the digest in the database. */
interface KnownSecret {
  readonly name: string
  readonly digest: Buffer
}

/** Plain SHA-256 is four times cheaper than the peppered digest, and 256 random bits cannot be guessed from it either. */
const nameOf = (token: string): string => hash('sha256', token, 'base64url')

type CallerRefusal =
  | 'malformed'
  | 'unknown'
  | 'expired'
  | 'disabled'
  | 'revoked'
  | 'account-suspended'
  | 'account-closed'

export type CallerOutcome =
  | { readonly kind: 'caller'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly reason: CallerRefusal }

/** A key as it was read, with what time alone will change about it: nobody is told of those moments. */
interface KnownKey {
  readonly id: KeyId
  readonly account: AccountRow
  readonly expiresAt: number | undefined
  /** Of a secret that was replaced: from then on it is nobody's. */
  readonly formerUntil: number | undefined
  /** What holds as long as the key has not expired. */
  readonly outcome: CallerOutcome
  /** What holds once the subscription has ended by itself. */
  readonly lapsed: { readonly from: number; readonly outcome: CallerOutcome } | undefined
}

const UNKNOWN = { kind: 'refused', reason: 'unknown' } as const
const EXPIRED = { kind: 'refused', reason: 'expired' } as const

export function judgeKey({ expiresAt, formerUntil, lapsed, outcome }: KnownKey, now: number): CallerOutcome {
  if (formerUntil !== undefined && formerUntil <= now) return UNKNOWN
  if (expiresAt !== undefined && expiresAt <= now && !isRevoked(outcome)) return EXPIRED
  return lapsed !== undefined && lapsed.from <= now ? lapsed.outcome : outcome
}

const isRevoked = (outcome: CallerOutcome): boolean => outcome.kind === 'refused' && outcome.reason === 'revoked'

/** `by` says with which of its two secrets it was found. */
export function knownKeyOf(key: KeyWithAccount, by: 'present' | 'former'): KnownKey {
  const refusal = refusalOf(key)
  const known = {
    id: key.id as KeyId,
    account: key.account as AccountRow,
    expiresAt: key.expires_at ?? undefined,
    formerUntil: by === 'former' ? (key.former_until ?? 0) : undefined,
  }
  if (refusal) return { ...known, lapsed: undefined, outcome: { kind: 'refused', reason: refusal } }
  const caller = callerOf(key)
  const from = caller.plan?.endsAt
  const lapsed = { kind: 'caller', caller: { ...caller, plan: undefined } } as const
  return {
    ...known,
    lapsed: from === undefined ? undefined : { from, outcome: lapsed },
    outcome: { kind: 'caller', caller },
  }
}

/** The most final reason first: it is the one worth telling. */
function refusalOf(key: KeyWithAccount): CallerRefusal | undefined {
  if (key.revoked_at !== null) return 'revoked'
  if (key.disabled_at !== null) return 'disabled'
  if (key.account_status === 'closed') return 'account-closed'
  return key.account_status === 'suspended' ? 'account-suspended' : undefined
}

const callerOf = (key: KeyWithAccount): Caller => ({
  accountId: key.account_id as AccountId,
  account: key.account as AccountRow,
  keyId: key.id as KeyId,
  key: key.row as KeyRow,
  keyName: key.name,
  kind: key.kind,
  models: key.models === null ? undefined : (JSON.parse(key.models) as string[]),
  limits: key.limits === null ? {} : (JSON.parse(key.limits) as LimitRates),
  caps: allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano }),
  plan: key.kind === 'builder' ? planOf(key) : undefined,
})

const planOf = ({ plan, plan_ends_at }: KeyWithAccount): CallerPlan | undefined =>
  plan === null ? undefined : { id: plan, endsAt: plan_ends_at ?? undefined }

export const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }

/** The answer to a caller that may not call (any more): the same at the door and when its body has arrived. */
export function callerProblem(reason: CallerRefusal): Problem {
  switch (reason) {
    case 'malformed':
      return invalid(
        'The API key is incomplete, mistyped or not one of this server, whose keys begin with mr_wallet_ or mr_builder_. Copy it again, whole.',
      )
    case 'unknown':
      return invalid('The API key is not known here. Check that it belongs to this server.')
    case 'expired':
      return invalid('The API key has expired. Create a new one.')
    case 'disabled':
      return invalid('The API key is disabled. Its owner can enable it again.')
    case 'revoked':
      return invalid('The API key was revoked. Create a new one.')
    case 'account-suspended':
      return problem('account_suspended', 'The account of this API key is suspended. Ask the operator of this server.')
    case 'account-closed':
      return invalid('The account of this API key is closed.')
    default:
      return assertNever(reason)
  }
}

const invalid = (message: string): Problem => problem('invalid_api_key', message, CHALLENGE)
