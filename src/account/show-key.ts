import type { Clock } from '../lib/clock.ts'
import type { LedgerDb } from '../store/tables.ts'
import { findOwnedKey, type OneKeyArgs } from './find-owned-key.ts'
import { type KeyView, keyView } from './key-view.ts'
import { done, type Outcome } from './outcome.ts'

export interface ShowKeyDeps {
  readonly db: LedgerDb
  readonly clock: Clock
}

export async function showKey(deps: ShowKeyDeps, args: OneKeyArgs): Promise<Outcome<KeyView>> {
  const found = await findOwnedKey(deps, args.key)
  return found.kind === 'found' ? done(keyView(found.key, found.owner, deps.clock.now())) : found
}
