import { type CallerOutcome, judgeKey, readKnownKey } from '../auth/callers.ts'
import { listCapsOf, NEW_KEYS } from '../db/caps.ts'
import { findPlaygroundKey, playgroundKeyInsert } from '../db/keys.ts'
import { UnexpectedChanges } from '../db/sql-store.ts'
import type { KeyKind } from '../model/caller.ts'
import { type AccountRow, mintKeyId } from '../model/ids.ts'
import type { AdminServices } from './services.ts'

/** As long as the digest of a secret. No secret has this digest. */
const DIGEST_BYTES = 32
/** The key may be revoked between its creation and its use. */
const TRIES_MAX = 3

/** One person's playground, or that of the account (`null`). */
interface Playground {
  readonly account: AccountRow
  readonly person: number | null
}

/**
 * The caller of the console's playground: a key with caps, limits and receipts, but without a secret, so that no program can
 * use it. It is created at its first use with the caps of new keys, and again after it was revoked; disabling it closes the
 * playground. A suspended account is refused, as in the API.
 */
export async function playgroundKey(
  { db, clock, random, files }: Pick<AdminServices, 'db' | 'clock' | 'random'> & { readonly files: LedgerFile },
  { account, person }: Playground,
  kind: KeyKind,
): Promise<CallerOutcome> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const key = await findPlaygroundKey(db, { account, person, kind })
    if (key !== undefined) return judgeKey(await readKnownKey(db, key, 'present'), clock.now())
    const row = {
      ...{ id: mintKeyId(random), account, person, kind, name: 'Playground', digest: random(DIGEST_BYTES) },
      ...{ shown: 'no secret', models: null, limits: null, expires_at: null, created_at: clock.now() },
    }
    const caps = (await listCapsOf(db, [account], [NEW_KEYS])).get(NEW_KEYS) ?? {}
    await files.ledger.atomic(playgroundKeyInsert(db, row, caps)).catch((error: unknown) => {
      if (!(error instanceof UnexpectedChanges)) throw error
    })
  }
  throw new Error(`The playground key of account ${account} is revoked as often as it is created`)
}

type LedgerFile = Pick<AdminServices['files'], 'ledger'>
