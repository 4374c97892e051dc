import { z } from 'zod'
import { nameArgument, plainText } from '../arguments.ts'
import type { Outcome } from '../outcome.ts'
import { type ChangeKeyDeps, changeKey } from './change-key.ts'
import type { KeyView } from './key-view.ts'

export const renameKeyArgs = z.strictObject({ key: nameArgument, name: plainText(100) })

export const renameKey = (
  deps: ChangeKeyDeps,
  { key, name }: z.output<typeof renameKeyArgs>,
): Promise<Outcome<KeyView>> => changeKey(deps, key, { change: { name }, said: 'renamed to' })
