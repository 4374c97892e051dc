import type { AccountView } from './account-view.ts'
import type { AuditAction } from './audit-trail.ts'
import type { CodeView } from './code-view.ts'
import type { MadeCode } from './create-codes.ts'
import type { WalletCredit } from './credit-wallet.ts'
import type { KeyView } from './key-view.ts'
import type { RedeemedFor } from './redeem-code-for.ts'
import type { SubscriptionView } from './show-plan.ts'

/** What an operation at the command line has done, for the audit trail. What only asks leaves nothing there. */
export interface AuditedAct {
  readonly action: AuditAction
  readonly target: string
  /** The id of the account whose owner may read it; without one it is the operators' alone. */
  readonly owner?: string
  readonly detail: string
}

const ofAccount = (action: AuditAction) => (value: unknown) => {
  const { id, email, status } = value as AccountView
  return { action, target: id, owner: id, detail: action === 'account_status' ? status : email }
}

const ofWallet = (value: unknown) => {
  const { account, amount, reason, ref, repeated } = value as WalletCredit
  const detail = `${amount} USD: ${reason}`
  return repeated ? undefined : ({ action: 'wallet_credited', target: ref, owner: account, detail } as const)
}

const ofKey = (action: AuditAction, change: string) => (value: unknown) => {
  const { id, account, name, kind } = value as KeyView
  return { action, target: id, owner: account, detail: `${change} ${JSON.stringify(name)} (${kind})` }
}

const ofPlan = (action: AuditAction) => (value: unknown) => {
  const { account, plan, until } = value as SubscriptionView
  return { action, target: account, owner: account, detail: `${plan}${until === null ? '' : ` until ${until}`}` }
}

const ofCodes = (value: unknown): AuditedAct => {
  const made = (value as { items: MadeCode[] }).items.map(({ code }) => code)
  const detail = `${made.length} of ${made[0]!.amount} USD each: ${made[0]!.note}`
  return { action: 'code_created', target: made[0]!.id, detail }
}

const ofWithdrawal = (value: unknown): AuditedAct => {
  const { id, shown, amount } = value as CodeView
  return { action: 'code_withdrawn', target: id, detail: `${shown}, ${amount} USD` }
}

const ofRedemption = (value: unknown): AuditedAct => {
  const { account, amount } = value as RedeemedFor
  return { action: 'code_redeemed', target: account, owner: account, detail: `${amount} USD` }
}

/** People tell of themselves: their acts and the trail are one step. */
const ACTS: Readonly<Record<string, (value: unknown) => AuditedAct | undefined>> = {
  'accounts.create': ofAccount('account_created'),
  'accounts.suspend': ofAccount('account_status'),
  'accounts.activate': ofAccount('account_status'),
  'wallet.credit': ofWallet,
  'wallet.refund': ofWallet,
  'wallet.adjust': ofWallet,
  'keys.create': ofKey('key_created', 'made'),
  'keys.revoke': ofKey('key_revoked', 'revoked'),
  'keys.disable': ofKey('key_changed', 'disabled'),
  'keys.enable': ofKey('key_changed', 'enabled'),
  'keys.rename': ofKey('key_changed', 'renamed to'),
  'keys.caps': ofKey('key_changed', 'new caps of'),
  'keys.change': ofKey('key_changed', 'new terms of'),
  'keys.rotate': ofKey('key_rotated', 'new secret of'),
  'codes.create': ofCodes,
  'codes.withdraw': ofWithdrawal,
  'codes.redeem': ofRedemption,
  'plans.assign': ofPlan('plan_assigned'),
  'plans.end': ofPlan('plan_ended'),
}

export const auditedAct = (operation: string, value: unknown): AuditedAct | undefined => ACTS[operation]?.(value)
