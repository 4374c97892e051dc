import type { z } from 'zod'
import type { rotateKeyBody } from '../../contract/keys.ts'
import type { MintedKey } from '../../keys/key-secret.ts'
import type { KeyKind } from '../../model/caller.ts'
import type { AccountRow, KeyId } from '../../model/ids.ts'
import { digestRotation } from '../../store/keys.ts'
import { parseExpiry } from '../moments.ts'
import { done, type Outcome, refused } from '../outcome.ts'
import { type ChangeKeyDeps, keyRevoked } from './change-key.ts'
import type { CreatedKey } from './create-key.ts'
import { findOwnedKey, type OneKey } from './find-owned-key.ts'
import { keyInWords, keyView } from './key-view.ts'

export interface RotateKeyDeps extends ChangeKeyDeps {
  readonly mintKey: (kind: KeyKind) => MintedKey
}

/** Whoever needs longer than that to put a new secret in place needs two keys. */
const GRACE_MAX_MS = 30 * 86_400_000

/**
 * A new secret for the same key: its caps, limits and what it has done under an idempotency key follow. Only the secret
 * before this one has a grace: one that was replaced earlier ends here.
 */
export async function rotateKey(
  deps: RotateKeyDeps,
  args: z.output<typeof rotateKeyBody> & OneKey,
  of?: AccountRow,
): Promise<Outcome<CreatedKey>> {
  const found = await findOwnedKey(deps, args.key, of)
  if (found.kind === 'refused') return found
  const { key } = found
  if (key.playground === 1) {
    return refused('key_without_secret', `${key.id} belongs to the playground and has no secret that could be rotated.`)
  }
  const now = deps.clock.now()
  const formerUntil = endOfGrace(args.grace, now)
  if (formerUntil === undefined) return unreadableGrace(args.grace)
  const minted = deps.mintKey(key.kind)
  const { digest, shown } = minted
  const detail = `${keyInWords('new secret of', key)}, the former one works for ${args.grace}`
  const act = { action: 'key_rotated', target: key.id, account: key.account, detail } as const
  const rotated = await deps.trail
    .act(act, [digestRotation(deps.db, key, { digest, shown, formerUntil })])
    .finally(() => deps.forgetKey(key.id as KeyId))
  const after = await findOwnedKey(deps, args.key, of)
  if (after.kind === 'refused') return after
  if (after.key.revoked_at !== null) return keyRevoked(key.id)
  if (rotated) return done({ ...keyView(after.key, after.owner, now), key: minted.key })
  return refused('key_changed', `${key.id} was given another secret in this moment. Nothing was done; try again.`)
}

/** Null ends the former secret at once; undefined is no grace. */
function endOfGrace(grace: string, now: number): number | null | undefined {
  if (/^0[mhdw]?$/.test(grace)) return null
  const end = /^\d{1,6}[mhdw]$/.test(grace) ? parseExpiry(grace, now) : undefined
  return end !== undefined && end <= now + GRACE_MAX_MS ? end : undefined
}

const unreadableGrace = (grace: string) =>
  refused(
    'invalid_grace',
    `${JSON.stringify(grace)} is not a grace: write 0, or a span of at most 30 days such as 1h, 24h or 7d.`,
    { param: 'grace' },
  )
