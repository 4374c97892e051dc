import type { z } from 'zod'
import type { AccountRow } from '../model/ids.ts'
import type { Outcome } from './outcome.ts'
import { nameArgument } from './plain-text.ts'
import { type RedeemCodeDeps, type Redeemed, redeemCode, redeemCodeArgs } from './redeem-code.ts'
import { resolveAccount } from './resolve-account.ts'

export const redeemCodeForArgs = redeemCodeArgs.extend({ account: nameArgument })

export interface RedeemedFor extends Redeemed {
  readonly account: string
  readonly email: string
}

/** By the operator, for somebody who reads a code out on the telephone; under the same rules. */
export async function redeemCodeFor(
  deps: RedeemCodeDeps,
  { account: named, code }: z.output<typeof redeemCodeForArgs>,
): Promise<Outcome<RedeemedFor>> {
  const resolved = await resolveAccount(deps, named)
  if (resolved.kind === 'refused') return resolved
  const { row, id, email } = resolved.account
  const outcome = await redeemCode(deps, row as AccountRow, { code })
  return outcome.kind === 'done' ? { kind: 'done', value: { account: id, email, ...outcome.value } } : outcome
}
