import { type ChangeKeyDeps, changeKey } from './change-key.ts'
import type { OneKeyArgs } from './find-owned-key.ts'
import type { KeyView } from './key-view.ts'
import type { Outcome } from './outcome.ts'

/** For good. Requests that are running finish: they were allowed when they came. */
export const revokeKey = (deps: ChangeKeyDeps, { key }: OneKeyArgs): Promise<Outcome<KeyView>> =>
  changeKey(deps, key, { revoked_at: deps.clock.now() })
