import { hash } from 'node:crypto'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/lru-map.ts'
import type { Caller, CallerPlan } from '../model/caller.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from '../model/ids.ts'
import type { LimitRates } from '../model/limit.ts'
import { allowancesOfCaps } from '../model/spend-caps.ts'
import { findKeyByDigest, type KeyWithAccount } from '../store/keys.ts'
import type { LedgerDb } from '../store/tables.ts'
import { digestKey } from './digest-key.ts'
import { KEY_LENGTH_MAX, readKey } from './read-key.ts'

export type CallerRefusal =
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

export interface CallerFinder {
  /** Answers at once when the key was seen before: this is on every request's way. */
  find(token: string): CallerOutcome | Promise<CallerOutcome>
  /** After every change of a key, so that the next request sees it. */
  forget(key: KeyId): void
  /** After every change of an account, or of its subscription. */
  forgetAccount(account: AccountRow): void
}

interface KnownKey {
  readonly id: KeyId
  readonly account: AccountRow
  readonly expiresAt: number | undefined
  /** What holds as long as the key has not expired. */
  readonly outcome: CallerOutcome
  /** What holds once the subscription has ended by itself: nobody is told of that moment. */
  readonly lapsed: { readonly from: number; readonly outcome: CallerOutcome } | undefined
}

/** Keys that are in use at the same time; each takes about a kilobyte. */
const KNOWN_MAX = 10_000
/** Tokens that look like keys and are none: remembered shortly, so that a client in a loop does not reach the database. */
const UNKNOWN_MAX = 10_000
const UNKNOWN_MICROS = 5_000_000

const MALFORMED = { kind: 'refused', reason: 'malformed' } as const
const UNKNOWN = { kind: 'refused', reason: 'unknown' } as const
const EXPIRED = { kind: 'refused', reason: 'expired' } as const

export function createCallerFinder(deps: { db: LedgerDb; pepper: Uint8Array; clock: Clock }): CallerFinder {
  const { db, pepper, clock } = deps
  // All three know a key by its hash only: a dump of this memory holds nobody's secret.
  const known = createLruMap<string, KnownKey>(KNOWN_MAX)
  const unknownUntil = createLruMap<string, number>(UNKNOWN_MAX)
  const lookingUp = new Map<string, Promise<CallerOutcome>>()
  let changes = 0

  const judge = ({ expiresAt, lapsed, outcome }: KnownKey): CallerOutcome => {
    if (expiresAt !== undefined && expiresAt <= clock.now() && !isRevoked(outcome)) return EXPIRED
    return lapsed !== undefined && lapsed.from <= clock.now() ? lapsed.outcome : outcome
  }

  const lookUp = async (name: string, digest: Buffer): Promise<CallerOutcome> => {
    const changesBefore = changes
    const found = await findKeyByDigest(db, digest)
    const key = found && knownKeyOf(found)
    // What was read before a change must not be remembered after it: a revoked key would live on in the cache.
    if (changes === changesBefore) {
      if (key) known.set(name, key)
      else unknownUntil.set(name, clock.ticks() + UNKNOWN_MICROS)
    }
    return key ? judge(key) : UNKNOWN
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
      if (until !== undefined && until > clock.ticks()) return UNKNOWN
      return lookUpOnce(name, digestKey(pepper, token))
    },
    forget: (id) => forgetWhere((key) => key.id === id),
    forgetAccount: (account) => forgetWhere((key) => key.account === account),
  }
}

/** Plain SHA-256 is four times cheaper than the peppered digest, and 256 random bits cannot be guessed from it either. */
const nameOf = (token: string): string => hash('sha256', token, 'base64url')

const isRevoked = (outcome: CallerOutcome): boolean => outcome.kind === 'refused' && outcome.reason === 'revoked'

function knownKeyOf(key: KeyWithAccount): KnownKey {
  const refusal = refusalOf(key)
  const known = { id: key.id as KeyId, account: key.account as AccountRow, expiresAt: key.expires_at ?? undefined }
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
