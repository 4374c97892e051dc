import { z } from 'zod'
import type { Catalog } from '../../catalog/catalog.ts'
import type { MintedKey } from '../../keys/key-secret.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { KeyKind } from '../../model/caller.ts'
import { mintKeyId } from '../../model/ids.ts'
import type { LimitRates } from '../../model/limit.ts'
import { findKeyById, keyInsert } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { resolveAccount } from '../accounts/one-account.ts'
import { nameArgument, plainText } from '../arguments.ts'
import { parseExpiry } from '../moments.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import { unreadableMoment } from '../plans/assign-plan.ts'
import type { Trail } from '../trail/trail.ts'
import { type KeyView, keyInWords, keyView } from './key-view.ts'
import { readCaps, spendCapArgs } from './read-caps.ts'
import { unmatchedModels } from './unmatched-models.ts'

const rate = z.number().int().positive().max(1_000_000_000_000).nullable().optional()

/** Null is no such limit. */
export const keyLimitsArgs = z.strictObject({ requests_per_minute: rate, tokens_per_minute: rate, concurrent: rate })

export const keyModelsArgs = z.array(plainText(200)).min(1).max(500)

export const createKeyArgs = z.strictObject({
  account: nameArgument,
  kind: z.enum(['wallet', 'builder']),
  name: plainText(100),
  /** Null or absent: every model of its kind. */
  models: keyModelsArgs.nullable().optional(),
  /** A date, or a span from now such as `30d`; null or absent: never. */
  expires: z.string().nullable().optional(),
  limits: keyLimitsArgs.optional(),
  caps: spendCapArgs.optional(),
})

export interface CreateKeyDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly random: RandomBytes
  readonly catalog: () => Catalog
  readonly mintKey: (kind: KeyKind) => MintedKey
  readonly trail: Trail
  /** How many keys one account may have that are not revoked. */
  readonly liveKeysMax: () => number
}

export interface CreatedKey extends KeyView {
  /** The secret: said this once, stored nowhere. */
  readonly key: string
}

type CreateKeyArgs = z.output<typeof createKeyArgs>

export async function createKey(deps: CreateKeyDeps, args: CreateKeyArgs): Promise<Outcome<CreatedKey>> {
  const resolved = await resolveAccount(deps, args.account)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  if (account.status === 'closed') return refused('account_closed', `Account ${account.id} is closed.`)
  const now = deps.clock.now()
  const expiresAt = args.expires == null ? null : parseExpiry(args.expires, now)
  if (expiresAt === undefined) return unreadableMoment(args.expires ?? '')
  const unmatched = unmatchedModels(deps.catalog(), args.kind, args.models ?? [])
  if (unmatched.length > 0) return noSuchModel(args.kind, unmatched)

  const caps = readCaps(args.caps ?? {})
  if (caps.kind === 'refused') return caps

  const limits = readLimits(args.limits)
  const minted = deps.mintKey(args.kind)
  const id = mintKeyId(deps.random)
  const row = {
    id,
    account: account.row,
    kind: args.kind,
    name: args.name,
    digest: minted.digest,
    shown: minted.shown,
    models: args.models == null ? null : JSON.stringify(args.models),
    limits: Object.keys(limits).length === 0 ? null : JSON.stringify(limits),
    expires_at: expiresAt,
    ...caps.columns,
    created_at: now,
  }
  const liveMax = deps.liveKeysMax()
  const act = { action: 'key_created', target: id, account: account.row, detail: keyInWords('made', row) } as const
  if (!(await deps.trail.act(act, [keyInsert(deps.db, row, liveMax)]))) return tooManyKeys(liveMax)
  const stored = await findKeyById(deps.db, id)
  if (stored === undefined) throw new Error(`Key ${id} is not there after it was made`)
  return done({ ...keyView(stored, account, now), key: minted.key })
}

const readLimits = (limits: CreateKeyArgs['limits'] = {}): LimitRates => ({
  ...(limits.requests_per_minute != null && { requestsPerMinute: limits.requests_per_minute }),
  ...(limits.tokens_per_minute != null && { tokensPerMinute: limits.tokens_per_minute }),
  ...(limits.concurrent != null && { concurrent: limits.concurrent }),
})

const tooManyKeys = (most: number): Refused =>
  refused(
    'too_many_keys',
    `This account has ${most} keys that are not revoked, and may not have more. Revoke one that nobody uses, or have the operator raise limits.keys_per_account.`,
  )

export const noSuchModel = (kind: KeyKind, names: readonly string[]): Refused =>
  refused('model_not_found', `No model for ${kind} keys matches ${names.join(', ')}. See: millrace models`)
