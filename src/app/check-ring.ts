import { findMeta, setMeta } from '../store/meta.ts'
import type { LedgerDb } from '../store/tables.ts'
import { fingerprintOf, type KeyRing } from './key-ring.ts'

export type RingCheck =
  | { readonly kind: 'ours' }
  | { readonly kind: 'refused'; readonly reason: string; readonly cure: string }

const SEALED_BY = 'sealed_by'

/**
 * Compares the ring with the one that sealed this database; a new database remembers this one. With another ring every
 * key would be refused and every sealed value unreadable: better not to start than to look as if all keys were gone.
 */
export async function checkRing(db: LedgerDb, ring: KeyRing): Promise<RingCheck> {
  const sealedBy = await findMeta(db, SEALED_BY)
  if (sealedBy === ring.fingerprint) return { kind: 'ours' }
  if (sealedBy === undefined) {
    await setMeta(db, SEALED_BY, ring.fingerprint)
    return { kind: 'ours' }
  }
  const former = ring.keys.find((key) => fingerprintOf(key) === sealedBy)
  if (former) {
    const reason = `The database was sealed by the key "${former.id}" of this key ring, which is not its primary key.`
    return { kind: 'refused', reason, cure: `Make "${former.id}" the primary key of keyring.json again.` }
  }
  return { kind: 'refused', reason: 'The database was sealed by another key ring than this one.', cure: cureFor(ring) }
}

function cureFor(ring: KeyRing): string {
  switch (ring.source) {
    case 'environment':
      return 'Set MILLRACE_SECRET_KEY to the secret that this database was made with, or unset it if that was keyring.json.'
    case 'file':
      return 'Restore the keyring.json that was saved with this database, or set MILLRACE_SECRET_KEY if it was made with that.'
    case 'new-file':
      return (
        'There was no keyring.json, so this start made a new one. Replace it with the one that was saved with this database, ' +
        'or set MILLRACE_SECRET_KEY if it was made with that.'
      )
  }
}
