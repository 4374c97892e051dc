import type { z } from 'zod'
import { readKey } from '../auth/secrets.ts'
import { type AdminScope, type adminKeyItem, allows, type createAdminKeyBody } from '../contract/admin-keys.ts'
import type { PageQuery } from '../contract/values.ts'
import {
  adminKeyInsert,
  adminKeyRevocation,
  findAdminKeyByDigest,
  findAdminKeyById,
  listAdminKeysMadeBy,
  listAdminKeys as listStored,
  type StoredAdminKey,
  touchAdminKey,
} from '../db/admin-keys.ts'
import { invitesOfMakerWithdrawal } from '../db/people.ts'
import { type AccountId, type AccountRow, mintAdminKeyId } from '../model/ids.ts'
import { resolveOpenAccount } from './accounts.ts'
import { COMMAND_LINE } from './audit.ts'
import { done, type OperationRefused, type Outcome, refuseOperation } from './outcome.ts'
import type { AdminServices } from './services.ts'
import { isoTime, isoTimeOrNull, NEWEST, parseExpiry, quoted, readPage, unreadableMoment } from './values.ts'

/** An admin key that has authenticated a request. */
export interface AdminCaller {
  readonly id: string
  readonly scopes: readonly AdminScope[]
  readonly expiresAt: number | null
  /** The account whose people a key of SCIM manages. */
  readonly account: { readonly id: AccountId; readonly row: AccountRow } | undefined
}

/** The actor of the audit log. */
export const actorOf = ({ id }: Pick<AdminCaller, 'id'>): string => `admin-key:${id}`

type AdminKeyView = z.output<typeof adminKeyItem>

const scopesOf = ({ scopes }: Pick<StoredAdminKey, 'scopes'>): AdminScope[] => scopes.split(' ') as AdminScope[]

/** Revoked is final, so it comes first. */
function stateOf({ revoked_at, expires_at }: StoredAdminKey, now: number): AdminKeyView['state'] {
  if (revoked_at !== null) return 'revoked'
  return expires_at !== null && expires_at <= now ? 'expired' : 'active'
}

const adminKeyView = (key: StoredAdminKey, now: number): AdminKeyView => ({
  ...{ id: key.id, name: key.name, shown: key.shown, scopes: scopesOf(key), state: stateOf(key, now) },
  ...{ created_at: isoTime(key.created_at), created_by: key.created_by },
  ...{ expires_at: isoTimeOrNull(key.expires_at), last_used_at: isoTimeOrNull(key.last_used_at) },
  account: key.account_id,
})

type KeyServices = Pick<AdminServices, 'db' | 'clock' | 'random' | 'auditLog' | 'adminKeys'>

/**
 * Creates a key of the management API. `maker`: an admin key makes no key that can do more than itself, or works longer; the
 * command line, which has none, makes any.
 */
export async function createAdminKey(
  { db, clock, random, auditLog, adminKeys }: KeyServices,
  { name, scopes, expires, account: named }: z.output<typeof createAdminKeyBody>,
  maker?: AdminCaller,
): Promise<Outcome<AdminKeyView & { readonly secret: string }>> {
  const now = clock.now()
  const expiresAt = expires == null ? null : parseExpiry(expires, now)
  if (expiresAt === undefined) return unreadableMoment(expires ?? '', 'expires')
  const refusal = maker && refuseToGrant(maker, scopes)
  if (refusal !== undefined) return refusal
  if (maker !== undefined && maker.expiresAt !== null && (expiresAt === null || expiresAt > maker.expiresAt)) {
    const message = `Your admin key expires on ${isoTime(maker.expiresAt)}, and makes no key that works longer. Send \`expires\`.`
    return refuseOperation('scope_exceeded', message, { param: 'expires' })
  }
  const isScim = scopes.includes('scim')
  if (isScim !== (named !== undefined) || (isScim && scopes.some((scope) => scope !== 'scim'))) {
    const message = 'A key with the scope scim has this scope alone, and names its account. Other keys name none.'
    return refuseOperation('invalid_arguments', message, {
      param: isScim && named === undefined ? 'account' : 'scopes',
    })
  }
  const resolved = named === undefined ? undefined : await resolveOpenAccount({ db }, named)
  if (resolved?.kind === 'refused') return resolved
  const { key: secret, digest, shown } = adminKeys.mint()
  const created_by = maker === undefined ? COMMAND_LINE : actorOf(maker)
  const row = {
    ...{ id: mintAdminKeyId(random), name, digest, shown, scopes: [...new Set(scopes)].join(' ') },
    ...{ created_at: now, created_by, expires_at: expiresAt, account: resolved?.value.row ?? null },
  }
  const entry = {
    action: 'admin_key_created',
    target: row.id,
    account: row.account,
    detail: `${JSON.stringify(name)}: ${row.scopes}`,
  } as const
  await auditLog.act(entry, [adminKeyInsert(row)])
  return done({ ...adminKeyView(await stored(db, row.id), now), secret })
}

/** Undefined if the maker has all of these scopes. */
function refuseToGrant(maker: AdminCaller, scopes: readonly AdminScope[]): OperationRefused | undefined {
  const beyond = scopes.filter((scope) => !allows(maker.scopes, scope))
  if (beyond.length === 0) return undefined
  const message = `Your admin key does not have ${beyond.join(', ')} itself. Use a key that has, or the command line.`
  return refuseOperation('scope_exceeded', message, { param: 'scopes' })
}

/** Newest first, with the revoked ones. */
export const listAdminKeys = ({ db, clock }: Pick<AdminServices, 'db' | 'clock'>, page: PageQuery) =>
  readPage(page, {
    first: NEWEST,
    read: (before, limit) => listStored(db, { before, limit }),
    numberOf: ({ row }) => row,
    view: (key) => adminKeyView(key, clock.now()),
  })

/** The key that asks. */
export const showOwnAdminKey = async (
  { db, clock }: Pick<AdminServices, 'db' | 'clock'>,
  { id }: AdminCaller,
): Promise<Outcome<AdminKeyView>> => done(adminKeyView(await stored(db, id), clock.now()))

/**
 * Final, on all nodes at once. It also withdraws the sign-up links that the key has made. The keys that it has made stay, so
 * that a key can be replaced by one that it makes; `made` names those that work.
 */
export async function revokeAdminKey(
  { db, clock, auditLog }: KeyServices,
  { key: id }: { readonly key: string },
  maker?: AdminCaller,
): Promise<Outcome<AdminKeyView & { readonly made: string[] }>> {
  if (readKey(id) !== undefined || id.startsWith('mra_')) {
    const message = 'This is the secret of a key. Use its adm_ id; see: millrace admin-keys list'
    return refuseOperation('admin_key_not_found', message)
  }
  const key = await findAdminKeyById(db, id)
  if (key === undefined) {
    return refuseOperation('admin_key_not_found', `There is no admin key ${quoted(id)}. See: millrace admin-keys list`)
  }
  const refusal = maker && refuseToGrant(maker, scopesOf(key))
  if (refusal !== undefined) return refusal
  const now = clock.now()
  // It fails if the key is revoked already, which is what was asked for.
  await auditLog.act({ action: 'admin_key_revoked', target: id, detail: JSON.stringify(key.name) }, [
    adminKeyRevocation(key.row, now),
    invitesOfMakerWithdrawal(actorOf(key), now),
  ])
  return done({ ...adminKeyView(await stored(db, id), now), made: await activeKeysMadeBy(db, key, now) })
}

/** Also by the keys that it has made. */
async function activeKeysMadeBy(db: AdminServices['db'], key: StoredAdminKey, now: number): Promise<string[]> {
  const active: string[] = []
  for (let makers = [key]; makers.length > 0; ) {
    makers = await listAdminKeysMadeBy(db, makers.map(actorOf))
    active.push(...makers.filter((made) => stateOf(made, now) === 'active').map(({ id }) => id))
  }
  return active
}

async function stored(db: AdminServices['db'], id: string): Promise<StoredAdminKey> {
  const key = await findAdminKeyById(db, id)
  if (key === undefined) throw new Error(`Admin key ${id} is missing, although admin keys are never deleted`)
  return key
}

export type AdminKeyRefusal = 'api-key' | 'malformed' | 'unknown' | 'expired' | 'revoked'

export type FoundAdminKey =
  | { readonly kind: 'caller'; readonly caller: AdminCaller }
  | { readonly kind: 'refused'; readonly reason: AdminKeyRefusal }

/** Why a key is no longer valid; undefined if it is. */
export async function judgeAdminKey(
  db: AdminServices['db'],
  id: string,
  now: number,
): Promise<'expired' | 'revoked' | undefined> {
  const state = stateOf(await stored(db, id), now)
  return state === 'active' ? undefined : state
}

/** Uses are written at most this often. */
const USED_EVERY_MS = 60_000

/**
 * Finds an admin key by its secret. It is read from the database each time, so that a revocation holds at once on every node;
 * management requests are few.
 */
export async function findAdminKey(
  { db, clock, adminKeys }: Pick<AdminServices, 'db' | 'clock' | 'adminKeys'>,
  token: string,
): Promise<FoundAdminKey> {
  const kind = readKey(token)
  if (kind !== 'admin') return { kind: 'refused', reason: kind === undefined ? 'malformed' : 'api-key' }
  const key = await findAdminKeyByDigest(db, adminKeys.digest(token))
  if (key === undefined) return { kind: 'refused', reason: 'unknown' }
  const now = clock.now()
  const state = stateOf(key, now)
  if (state !== 'active') return { kind: 'refused', reason: state }
  const isDue = key.last_used_at === null || now - key.last_used_at >= USED_EVERY_MS
  // A ledger that cannot be written still answers what only reads.
  if (isDue) await touchAdminKey(db, key.row, now).catch(() => {})
  const account = key.account === null ? undefined : { id: key.account_id as AccountId, row: key.account as AccountRow }
  return { kind: 'caller', caller: { id: key.id, scopes: scopesOf(key), expiresAt: key.expires_at, account } }
}
