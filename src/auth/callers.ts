import { hash } from 'node:crypto'
import { type CapsOfKey, capsOfKeys } from '../db/caps.ts'
import { findKeyByDigest, findKeyWithAccount, type KeyWithAccount } from '../db/keys.ts'
import { findRunByRow } from '../db/runs.ts'
import type { LedgerDb } from '../db/tables.ts'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/collections.ts'
import { createNetworks } from '../lib/network.ts'
import { assertNever } from '../lib/types.ts'
import type { Caller, RateLimits } from '../model/caller.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from '../model/ids.ts'
import { type Problem, problem } from '../model/problem.ts'
import { parseRunRule, type RunRule } from '../model/run.ts'
import { parseStepDown } from '../model/step-down.ts'
import { digestKey, isJobKeyOf, KEY_LENGTH_MAX, readJobKey, readKey } from './secrets.ts'

export interface Callers {
  /** Synchronous when the key is in the cache, because every request calls this. */
  find(token: string): CallerOutcome | Promise<CallerOutcome>
  /**
   * Checks a caller again: its key, account, plan and caps may have changed while its body arrived. Synchronous, with the same
   * object, while nothing has changed.
   */
  findAgain(caller: Caller): CallerOutcome | Promise<CallerOutcome>
  /** Counts changes of keys and accounts. While it stays, an earlier check holds. */
  readonly changes: number
  /** After every change of a key, so that the next request sees it. */
  forget(key: KeyId): void
  /** After every change of an account, or of its subscription. */
  forgetAccount(account: AccountRow): void
  /** After every change of time. */
  forgetAll(): void
}

/** Cached keys; each takes about a kilobyte. */
const KNOWN_MAX = 10_000
/** Tokens that look like keys and are not: cached shortly, so that a client in a loop does not reach the database. */
const UNKNOWN_MAX = 10_000
const UNKNOWN_MICROS = 5_000_000

const MALFORMED = { kind: 'refused', reason: 'malformed' } as const
const ADMIN_KEY = { kind: 'refused', reason: 'admin-key' } as const

interface CallersOptions {
  readonly db: LedgerDb
  readonly pepper: Uint8Array
  /** Authenticates the keys of CI jobs. */
  readonly jobSecret: Uint8Array
  readonly clock: Clock
}

export function createCallers({ db, pepper, jobSecret, clock }: CallersOptions): Callers {
  // The caches have only hashes of keys, so a memory dump has no secret.
  const known = createLruMap<string, KnownKey>(KNOWN_MAX)
  const unknownUntil = createLruMap<string, number>(UNKNOWN_MAX)
  const lookingUp = new Map<string, Promise<CallerOutcome>>()
  const secrets = new WeakMap<Caller, KnownSecret>()

  const readByDigest = async (digest: Buffer): Promise<KnownKey | undefined> => {
    const found = await findKeyByDigest(db, digest)
    return found && (await readKnownKey(db, found, digest.equals(found.digest) ? 'present' : 'former'))
  }

  const readByJob = async (token: string): Promise<KnownKey | undefined> => {
    const { run: row, expiresAt } = readJobKey(token)
    const run = await findRunByRow(db, row)
    if (run === undefined || run.key === null) return undefined
    if (!isJobKeyOf(jobSecret, token, { ...run, key: run.key })) return undefined
    const found = await findKeyWithAccount(db, run.key)
    return found && ofJob(await readKnownKey(db, found, 'present'), { run: run.id, tags: run.tags, expiresAt })
  }

  const lookUp = async ({ name, read }: KnownSecret): Promise<CallerOutcome> => {
    const changesBefore = callers.changes
    const key = await read()
    // A key that was read before a change must not be cached after it: a revoked key would stay valid.
    for (const each of [key?.outcome, key?.lapsed?.outcome]) {
      if (each?.kind === 'caller') secrets.set(each.caller, { name, read })
    }
    if (callers.changes === changesBefore) {
      if (key) known.set(name, key)
      else unknownUntil.set(name, clock.nowMicros() + UNKNOWN_MICROS)
    }
    return key ? judgeKey(key, clock.now()) : UNKNOWN
  }

  const lookUpOnce = (secret: KnownSecret): Promise<CallerOutcome> => {
    const { name } = secret
    const running = lookingUp.get(name)
    if (running) return running
    const started = lookUp(secret).finally(() => {
      if (lookingUp.get(name) === started) lookingUp.delete(name)
    })
    lookingUp.set(name, started)
    return started
  }

  /** For playground keys, which have no secret. */
  const findByRow = async (caller: Caller): Promise<CallerOutcome> => {
    const found = await findKeyWithAccount(db, caller.key)
    return found ? judgeKey(await readKnownKey(db, found, 'present'), clock.now()) : UNKNOWN
  }

  const forgetWhere = (concerns: (key: KnownKey) => boolean): void => {
    callers.changes++
    lookingUp.clear()
    unknownUntil.clear()
    for (const [name, key] of known.entries()) if (concerns(key)) known.delete(name)
  }

  const callers = {
    changes: 0,
    find(token: string) {
      if (token.length > KEY_LENGTH_MAX) return MALFORMED
      // Plain SHA-256 is four times cheaper than the peppered digest, and does not reveal 256 random bits either.
      const name = hash('sha256', token, 'base64url')
      const key = known.get(name)
      if (key) return key.lasting ?? judgeKey(key, clock.now())
      const kind = readKey(token)
      if (kind === undefined) return MALFORMED
      if (kind === 'admin') return ADMIN_KEY
      const until = unknownUntil.get(name)
      if (until !== undefined && until > clock.nowMicros()) return UNKNOWN
      if (kind === 'job') return lookUpOnce({ name, read: () => readByJob(token) })
      const digest = digestKey(pepper, token)
      return lookUpOnce({ name, read: () => readByDigest(digest) })
    },
    findAgain(caller: Caller) {
      const secret = secrets.get(caller)
      if (secret === undefined) return findByRow(caller)
      const key = known.get(secret.name)
      if (key) return key.lasting ?? judgeKey(key, clock.now())
      return lookUpOnce(secret)
    },
    forget: (id: KeyId) => forgetWhere((key) => key.id === id),
    forgetAccount: (account: AccountRow) => forgetWhere((key) => key.account === account),
    forgetAll: () => forgetWhere(() => true),
  }
  return callers
}

/** The name of a key in the cache, and how it is read from the database. */
interface KnownSecret {
  readonly name: string
  readonly read: () => Promise<KnownKey | undefined>
}

type CallerRefusal =
  | 'malformed'
  | 'admin-key'
  | 'unknown'
  | 'expired'
  | 'disabled'
  | 'revoked'
  | 'person-disabled'
  | 'account-suspended'
  | 'account-closed'

export type CallerOutcome =
  | { readonly kind: 'caller'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly reason: CallerRefusal }

/** A key as it was read, with the times at which it changes without an event. */
interface KnownKey {
  readonly id: KeyId
  readonly account: AccountRow
  readonly expiresAt: number | undefined
  /** When a replaced secret stops being valid. */
  readonly formerUntil: number | undefined
  /** The outcome until the key expires. */
  readonly outcome: CallerOutcome
  /** The outcome after the subscription has ended by itself. */
  readonly lapsed: { readonly from: number; readonly outcome: CallerOutcome } | undefined
  /** The outcome of most keys, which no time changes. */
  readonly lasting: CallerOutcome | undefined
}

const UNKNOWN = { kind: 'refused', reason: 'unknown' } as const
const EXPIRED = { kind: 'refused', reason: 'expired' } as const

export function judgeKey({ expiresAt, formerUntil, lapsed, outcome }: KnownKey, now: number): CallerOutcome {
  if (formerUntil !== undefined && formerUntil <= now) return UNKNOWN
  const isRevoked = outcome.kind === 'refused' && outcome.reason === 'revoked'
  if (expiresAt !== undefined && expiresAt <= now && !isRevoked) return EXPIRED
  return lapsed !== undefined && lapsed.from <= now ? lapsed.outcome : outcome
}

/** Reads the caps of a key. `by`: which of its two secrets was found. */
export async function readKnownKey(db: LedgerDb, key: KeyWithAccount, by: 'present' | 'former'): Promise<KnownKey> {
  const [caps] = await capsOfKeys(db, [key])
  return knownKeyOf(key, caps!, by)
}

function knownKeyOf(key: KeyWithAccount, caps: CapsOfKey, by: 'present' | 'former'): KnownKey {
  const refusal = refusalOf(key)
  const known = {
    id: key.id as KeyId,
    account: key.account as AccountRow,
    expiresAt: key.expires_at ?? undefined,
    formerUntil: by === 'former' ? (key.former_until ?? 0) : undefined,
  }
  if (refusal) return { ...known, lapsed: undefined, outcome: { kind: 'refused', reason: refusal }, lasting: undefined }
  const caller = callerOf(key, caps)
  const from = caller.plan?.endsAt
  const lapsed = { kind: 'caller', caller: { ...caller, plan: undefined } } as const
  const outcome = { kind: 'caller', caller } as const
  const isTimed = known.expiresAt !== undefined || known.formerUntil !== undefined || from !== undefined
  return {
    ...known,
    lapsed: from === undefined ? undefined : { from, outcome: lapsed },
    outcome,
    lasting: isTimed ? undefined : outcome,
  }
}

/** The key of a job is the key of its rule until its own end, in the run of the job. */
function ofJob(
  key: KnownKey,
  { expiresAt, run, tags }: { expiresAt: number; run: string; tags: string | null },
): KnownKey {
  const inJob = (outcome: CallerOutcome): CallerOutcome =>
    outcome.kind === 'refused' ? outcome : { ...outcome, caller: { ...outcome.caller, job: { run, tags } } }
  return {
    ...key,
    expiresAt: Math.min(expiresAt, key.expiresAt ?? expiresAt),
    outcome: inJob(key.outcome),
    lapsed: key.lapsed && { ...key.lapsed, outcome: inJob(key.lapsed.outcome) },
    lasting: undefined,
  }
}

/** The most final reason first. */
function refusalOf(key: KeyWithAccount): CallerRefusal | undefined {
  if (key.revoked_at !== null) return 'revoked'
  if (key.disabled_at !== null) return 'disabled'
  if (key.person_disabled_at !== null) return 'person-disabled'
  if (key.account_status === 'closed') return 'account-closed'
  return key.account_status === 'suspended' ? 'account-suspended' : undefined
}

const callerOf = (key: KeyWithAccount, { own, shared }: CapsOfKey): Caller => ({
  accountId: key.account_id as AccountId,
  account: key.account as AccountRow,
  keyId: key.id as KeyId,
  key: key.row as KeyRow,
  keyName: key.name,
  kind: key.kind,
  models: key.models === null ? undefined : (JSON.parse(key.models) as string[]),
  limits: key.limits === null ? {} : (JSON.parse(key.limits) as RateLimits),
  caps: [...own, ...shared],
  networks: key.addresses === null ? undefined : createNetworks(JSON.parse(key.addresses) as string[]),
  run: runRuleOf(key),
  stepDown: parseStepDown(key.step_down) ?? undefined,
  plan:
    key.kind === 'builder' && key.plan !== null ? { id: key.plan, endsAt: key.plan_ends_at ?? undefined } : undefined,
  person: key.person ?? undefined,
  readsOwnOnly: key.person_role === 'member',
  job: undefined,
})

/** The playground sends no headers, so its key cannot require them. */
function runRuleOf({ run, playground }: Pick<KeyWithAccount, 'run' | 'playground'>): RunRule | undefined {
  const rule = parseRunRule(run) ?? undefined
  return rule === 'required' && playground === 1 ? undefined : rule
}

export const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }

/** The answer to a refused caller: the same before and after its body has arrived. */
export function callerProblem(reason: CallerRefusal): Problem {
  switch (reason) {
    case 'malformed':
      return invalid(
        'The API key is incomplete, mistyped or from another server. Keys of this server begin with mr_wallet_, mr_builder_ or mr_job_. Copy the whole key again.',
      )
    case 'admin-key':
      return invalid(
        'This is an admin key, which works at /admin/v1 only. Here use an API key: it begins with mr_wallet_ or mr_builder_.',
      )
    case 'unknown':
      return invalid('The API key is not known here. Check that it belongs to this server.')
    case 'expired':
      return invalid('The API key has expired. Create a new one, or exchange the token of the job again.')
    case 'disabled':
      return invalid('The API key is disabled. Its owner can enable it again.')
    case 'person-disabled':
      return invalid('The person this API key belongs to is disabled. An owner of the account can enable them again.')
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

/** The answer to a caller at an address that its key does not allow. */
export const addressNotAllowed = (address: string | undefined): Problem =>
  problem(
    'key_address_not_allowed',
    `This API key may not be used from ${address ?? 'an unknown address'}. Its owner can change the addresses it is allowed from.`,
  )

const invalid = (message: string): Problem => problem('invalid_api_key', message, CHALLENGE)
