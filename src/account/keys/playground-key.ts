import { type CallerOutcome, judgeKey, knownKeyOf } from '../../keys/known-key.ts'
import type { Clock } from '../../lib/clock.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { KeyKind } from '../../model/caller.ts'
import { type AccountRow, mintKeyId } from '../../model/ids.ts'
import { findPlaygroundKey, insertPlaygroundKey, type KeyWithAccount } from '../../store/keys.ts'
import type { LedgerDb } from '../../store/tables.ts'

export interface PlaygroundKeyDeps {
  readonly db: LedgerDb
  readonly clock: Clock
  readonly random: RandomBytes
}

/** As long as the digest of a secret. That a secret has just this one as its digest will not come to pass. */
const DIGEST_BYTES = 32
/** Somebody may revoke it between its making and its reading; nobody does that three times. */
const TRIES_MAX = 3

/**
 * Who asks when a person tries a model in the console: a key of the account like any other, with caps, limits and receipts,
 * only that no program can be it, because nobody has a secret for it. It is made at the first use, and again after it was
 * revoked; disabling it is what closes the playground. A suspended account is refused here as at the door.
 */
export async function playgroundKey(
  deps: PlaygroundKeyDeps,
  account: AccountRow,
  kind: KeyKind,
): Promise<CallerOutcome> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const key = await findPlaygroundKey(deps.db, account, kind)
    if (key !== undefined) return callerOf(key, deps.clock.now())
    await insertPlaygroundKey(deps.db, newKey(deps, account, kind))
  }
  throw new Error(`The playground key of account ${account} is revoked as often as it is made`)
}

const callerOf = (key: KeyWithAccount, now: number): CallerOutcome => judgeKey(knownKeyOf(key, 'present'), now)

const newKey = ({ clock, random }: PlaygroundKeyDeps, account: AccountRow, kind: KeyKind) => ({
  ...{ id: mintKeyId(random), account, kind, name: 'Playground', digest: random(DIGEST_BYTES), shown: 'no secret' },
  ...{ models: null, limits: null, expires_at: null, created_at: clock.now() },
})
