import { type ChangeKeyDeps, changeKey } from './change-key.ts'
import type { OneKeyArgs } from './find-owned-key.ts'
import type { KeyView } from './key-view.ts'
import type { Outcome } from './outcome.ts'

export const enableKey = (deps: ChangeKeyDeps, { key }: OneKeyArgs): Promise<Outcome<KeyView>> =>
  changeKey(deps, key, { disabled_at: null })
