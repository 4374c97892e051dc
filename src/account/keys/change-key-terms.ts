import { z } from 'zod'
import type { Catalog } from '../../catalog/catalog.ts'
import type { AccountRow } from '../../model/ids.ts'
import type { LimitRates } from '../../model/limit.ts'
import type { KeyChange } from '../../store/keys.ts'
import { nameArgument, plainText } from '../arguments.ts'
import { parseExpiry } from '../moments.ts'
import { done, type Outcome, type Refused } from '../outcome.ts'
import { unreadableMoment } from '../plans/assign-plan.ts'
import { type ChangeKeyDeps, changeKey } from './change-key.ts'
import { keyLimitsArgs, keyModelsArgs, noSuchModel } from './create-key.ts'
import { findOwnedKey } from './find-owned-key.ts'
import { type KeyView, keyView } from './key-view.ts'
import { readCaps, spendCapArgs } from './read-caps.ts'
import { unmatchedModels } from './unmatched-models.ts'
import { confirmToWiden, widensKey } from './widens-key.ts'

/** What is absent stays as it is; null takes it away. */
export const changeKeyTermsArgs = z.strictObject({
  key: nameArgument,
  name: plainText(100).optional(),
  models: keyModelsArgs.nullable().optional(),
  limits: keyLimitsArgs.optional(),
  caps: spendCapArgs.optional(),
  /** A date, or a span from now such as `30d`. */
  expires: z.string().nullable().optional(),
  disabled: z.boolean().optional(),
})

export interface ChangeKeyTermsDeps extends ChangeKeyDeps {
  readonly catalog: () => Catalog
  /** What holds for keys without limits of their own. */
  readonly keyRates: () => LimitRates
}

type Terms = z.output<typeof changeKeyTermsArgs>

interface Asked {
  /** The account of an owner who asks. */
  readonly of?: AccountRow
  /** Whether it may become a key that can do more than before: for an owner, only behind a fresh password. */
  readonly mayWiden: boolean
}

/** All that a key is about, but for its secret, in one act: all of it counts from the next request on, or none. */
export async function changeKeyTerms(
  deps: ChangeKeyTermsDeps,
  { key: named, ...terms }: Terms,
  { of, mayWiden }: Asked,
): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(deps, named, of)
  if (found.kind === 'refused') return found
  const { kind, disabled_at } = found.key
  const unmatched = unmatchedModels(deps.catalog(), kind, terms.models ?? [])
  if (unmatched.length > 0) return noSuchModel(kind, unmatched)
  const now = deps.clock.now()
  const read = readTerms(terms, now)
  if (read.kind === 'refused') return read
  // Since when it is disabled stays what it was.
  const disabled = terms.disabled === undefined ? {} : { disabled_at: terms.disabled ? (disabled_at ?? now) : null }
  const change = { ...read.change, ...disabled }
  if (Object.keys(change).length === 0) return done(keyView(found.key, found.owner, now))
  if (!mayWiden && widensKey(found.key, change, deps.keyRates())) return confirmToWiden
  const judged = mayWiden ? undefined : found.key
  return changeKey(deps, named, { change, said: `${Object.keys(terms).join(', ')} of`, judged }, of)
}

type ReadTerms = { readonly kind: 'read'; readonly change: KeyChange } | Refused

function readTerms({ name, models, limits, caps, expires }: Omit<Terms, 'key'>, now: number): ReadTerms {
  const expiresAt = expires == null ? expires : (parseExpiry(expires, now) ?? 'unreadable')
  if (expiresAt === 'unreadable') return unreadableMoment(expires ?? '')
  const readCap = readCaps(caps ?? {})
  if (readCap.kind === 'refused') return readCap
  const change = {
    ...(name !== undefined && { name }),
    ...(models !== undefined && { models: models === null ? null : JSON.stringify(models) }),
    ...(limits !== undefined && { limits: limitsChange(limits) }),
    ...(expiresAt !== undefined && { expires_at: expiresAt }),
    ...readCap.columns,
  }
  return { kind: 'read', change }
}

const limitsChange = (limits: z.output<typeof keyLimitsArgs>): Record<string, number | null> => ({
  ...(limits.requests_per_minute !== undefined && { requestsPerMinute: limits.requests_per_minute }),
  ...(limits.tokens_per_minute !== undefined && { tokensPerMinute: limits.tokens_per_minute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})
