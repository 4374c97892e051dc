import type { z } from 'zod'
import type { createKeyBody } from '../../contract/keys.ts'
import type { MintedKey } from '../../keys/key-secret.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { KeyKind } from '../../model/caller.ts'
import { mintKeyId } from '../../model/ids.ts'
import { findKeyById, keyInsert } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type OneAccount, resolveOpenAccount } from '../accounts/one-account.ts'
import { done, type Outcome, type Refused, refused } from '../outcome.ts'
import type { Trail } from '../trail/trail.ts'
import { type ReadTermsDeps, readTerms } from './key-terms.ts'
import { type KeyView, keyInWords, keyView } from './key-view.ts'

export interface CreateKeyDeps extends ReadTermsDeps {
  readonly db: LedgerDb
  readonly random: RandomBytes
  readonly mintKey: (kind: KeyKind) => MintedKey
  readonly trail: Trail
  /** How many keys one account may have that are not revoked. */
  readonly liveKeysMax: () => number
}

export interface CreatedKey extends KeyView {
  /** The secret: said this once, stored nowhere. */
  readonly key: string
}

export async function createKey(
  deps: CreateKeyDeps,
  { account: named, kind, name, ...terms }: z.output<typeof createKeyBody> & OneAccount,
): Promise<Outcome<CreatedKey>> {
  const resolved = await resolveOpenAccount(deps, named)
  if (resolved.kind === 'refused') return resolved
  const { account } = resolved
  const read = readTerms(deps, kind, terms)
  if (read.kind === 'refused') return read
  const { limits, ...columns } = read.columns
  const now = deps.clock.now()
  const { digest, shown, key } = deps.mintKey(kind)
  const row = {
    ...{ id: mintKeyId(deps.random), account: account.row, kind, name, digest, shown },
    ...{ models: null, expires_at: null, ...columns, limits: storedLimits(limits), created_at: now },
  }
  const liveMax = deps.liveKeysMax()
  const act = { action: 'key_created', target: row.id, account: account.row, detail: keyInWords('made', row) } as const
  if (!(await deps.trail.act(act, [keyInsert(deps.db, row, liveMax)]))) return tooManyKeys(liveMax)
  const stored = await findKeyById(deps.db, row.id)
  if (stored === undefined) throw new Error(`Key ${row.id} is not there after it was made`)
  return done({ ...keyView(stored, account, now), key })
}

/** A new key has none that could be taken away. */
function storedLimits(limits: Readonly<Record<string, number | null>> = {}): string | null {
  const own = Object.entries(limits).filter(([, rate]) => rate !== null)
  return own.length === 0 ? null : JSON.stringify(Object.fromEntries(own))
}

const tooManyKeys = (most: number): Refused =>
  refused(
    'too_many_keys',
    `This account has ${most} keys that are not revoked, and may not have more. Revoke one that nobody uses, or have the operator raise limits.keys_per_account.`,
  )
