import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { deriveKey } from '../../lib/derive-key.ts'
import { findMeta, setMeta } from '../../store/meta.ts'
import type { LedgerDb } from '../../store/tables.ts'
import type { KeyRing, RingKey } from './key-ring.ts'

/** A key ring beside the database that it serves. */
export interface DatabaseRing extends KeyRing {
  /**
   * The key that the database was begun with. Digests of API keys and of idempotency keys are made with it for ever: only
   * who has the text can make them anew, and that is the client. So it stays on the ring, primary or not.
   */
  readonly founding: RingKey
}

export type RingCheck =
  | { readonly kind: 'ours'; readonly ring: DatabaseRing }
  | { readonly kind: 'refused'; readonly reason: string; readonly cure: string }

/** The id of the founding key. */
const SEALED_BY = 'sealed_by'

/**
 * Looks for the key that this database was begun with; a new database remembers the primary one. Without it every API key
 * would be refused: better not to start than to look as if all keys were gone.
 */
export async function checkRing(db: LedgerDb, ring: KeyRing): Promise<RingCheck> {
  const sealedBy = await findMeta(db, SEALED_BY)
  if (sealedBy === undefined) {
    const [founding] = ring.keys
    await setMeta(db, SEALED_BY, founding.id)
    return { kind: 'ours', ring: { ...ring, founding } }
  }
  const founding = ring.keys.find(({ id }) => id === sealedBy)
  if (founding !== undefined) return { kind: 'ours', ring: { ...ring, founding } }
  const reason = 'The key that this database was begun with is not on the key ring.'
  return { kind: 'refused', reason, cure: `${cureFor(ring)} See docs/operate/key-ring.md.` }
}

/** Why no ring can be loaded for this database: its file is gone. A new one would not open anything. */
export async function findMissingRing(
  db: LedgerDb,
  { dataDir, secretFromEnvironment }: { readonly dataDir: string; readonly secretFromEnvironment: string | undefined },
): Promise<string | undefined> {
  const path = join(dataDir, 'keyring.json')
  if (secretFromEnvironment !== undefined || existsSync(path)) return undefined
  if ((await findMeta(db, SEALED_BY)) === undefined) return undefined
  return (
    `${path} is missing, and ledger.db was begun with a key that is not here. Put back the keyring.json that was saved with ` +
    'this ledger, or set MILLRACE_SECRET_KEY if it was begun with that. See docs/operate/key-ring.md.'
  )
}

function cureFor(ring: KeyRing): string {
  switch (ring.source) {
    case 'environment':
      return (
        'Put the secret that it was begun with into MILLRACE_SECRET_KEY, alone or behind a newer one and a space; ' +
        'or unset MILLRACE_SECRET_KEY if it was begun with keyring.json.'
      )
    case 'file':
      return (
        'Put that key back into keyring.json, primary or not, from the one that was saved with this database; ' +
        'or set MILLRACE_SECRET_KEY if it was begun with that.'
      )
    case 'new-file':
      return (
        'There was no keyring.json, so this start made a new one. Replace it with the one that was saved with this database, ' +
        'or set MILLRACE_SECRET_KEY if it was begun with that.'
      )
  }
}

/** Keys are found by what they digest to under it, so it stays that of the key which founded the ring. */
export const apiKeyPepper = ({ founding }: DatabaseRing): Uint8Array => deriveKey(founding.secret, 'api-key-pepper')
