import type { Ledger } from '../ledger/ledger.ts'
import { type ConfiguredLimits, ratesOfKey } from '../limits/limits-for-turn.ts'
import type { Caller, KeyKind } from '../model/caller.ts'
import { type WalletView, walletOf } from './account-view.ts'
import { type LimitsView, limitsView } from './key-view.ts'

export interface DescribeKeyDeps {
  readonly ledger: Pick<Ledger, 'standing'>
  readonly limits: () => ConfiguredLimits
}

/** What a key may ask about itself. */
export interface KeyDescription {
  readonly object: 'key'
  readonly id: string
  readonly account: string
  readonly name: string
  readonly kind: KeyKind
  /** Ids and globs; null admits every model of its kind. */
  readonly models: readonly string[] | null
  /** A wallet key's balance, shared by all wallet keys of the account; null for a builder key, which never draws on it. */
  readonly wallet: (WalletView & { readonly currency: 'USD' }) | null
  /** Spend caps of the key itself. */
  readonly caps: readonly never[]
  /** A builder key's allowance; empty while the account has no subscription. */
  readonly windows: readonly never[]
  readonly limits: { readonly key: LimitsView; readonly account: LimitsView }
}

export async function describeKey(deps: DescribeKeyDeps, caller: Caller): Promise<KeyDescription> {
  const configured = deps.limits()
  const wallet = caller.kind === 'wallet' ? await walletOf(deps.ledger, caller.account) : undefined
  return {
    object: 'key',
    id: caller.keyId,
    account: caller.accountId,
    name: caller.keyName,
    kind: caller.kind,
    models: caller.models ?? null,
    wallet: wallet === undefined ? null : { currency: 'USD', ...wallet },
    caps: [],
    windows: [],
    limits: {
      key: limitsView(ratesOfKey(configured.key, caller.limits)),
      account: limitsView(configured.account),
    },
  }
}
