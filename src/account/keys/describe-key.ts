import type { Catalog } from '../../catalog/catalog.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import { type ConfiguredLimits, ratesOfKey } from '../../limits/limits-for-turn.ts'
import type { Caller, KeyKind } from '../../model/caller.ts'
import { type WalletView, walletOf } from '../accounts/one-account.ts'
import { isoTimeOrNull } from '../moments.ts'
import { type CapView, capView, type WindowView, windowView } from '../plans/allowance-view.ts'
import { type LimitsView, limitsView } from './key-view.ts'

export interface DescribeKeyDeps {
  readonly ledger: Pick<Ledger, 'standing' | 'allowanceStandings'>
  readonly catalog: () => Pick<Catalog, 'plans'>
  readonly limits: () => Pick<ConfiguredLimits, 'key' | 'account'>
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
  readonly caps: readonly CapView[]
  /** A builder key's subscription; null while the account has none, or one that this server does not offer any more. */
  readonly plan: { readonly id: string; readonly until: string | null } | null
  /** What the subscription grants, and what is left of it; empty without one. */
  readonly windows: readonly WindowView[]
  readonly limits: { readonly key: LimitsView; readonly account: LimitsView }
}

export async function describeKey(deps: DescribeKeyDeps, caller: Caller): Promise<KeyDescription> {
  const configured = deps.limits()
  const wallet = caller.kind === 'wallet' ? await walletOf(deps.ledger, caller.account) : undefined
  const plan = caller.plan && deps.catalog().plans.get(caller.plan.id)
  const { standings } = await deps.ledger.allowanceStandings(caller.account, [...(plan?.windows ?? []), ...caller.caps])
  return {
    object: 'key',
    id: caller.keyId,
    account: caller.accountId,
    name: caller.keyName,
    kind: caller.kind,
    models: caller.models ?? null,
    wallet: wallet === undefined ? null : { currency: 'USD', ...wallet },
    caps: standings.filter(({ allowance }) => allowance.unit === 'cap').map(capView),
    plan: plan === undefined ? null : { id: plan.id, until: isoTimeOrNull(caller.plan?.endsAt ?? null) },
    windows: standings.filter(({ allowance }) => allowance.unit === 'quota').map(windowView),
    limits: {
      key: limitsView(ratesOfKey(configured.key, caller.limits)),
      account: limitsView(configured.account),
    },
  }
}
