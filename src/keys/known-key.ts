import type { Caller, CallerPlan } from '../model/caller.ts'
import type { AccountId, AccountRow, KeyId, KeyRow } from '../model/ids.ts'
import type { LimitRates } from '../model/limit.ts'
import { allowancesOfCaps } from '../model/spend-caps.ts'
import type { KeyWithAccount } from '../store/keys.ts'

export type CallerRefusal =
  | 'malformed'
  | 'unknown'
  | 'expired'
  | 'disabled'
  | 'revoked'
  | 'account-suspended'
  | 'account-closed'

export type CallerOutcome =
  | { readonly kind: 'caller'; readonly caller: Caller }
  | { readonly kind: 'refused'; readonly reason: CallerRefusal }

/** A key as it was read, with what time alone will change about it: nobody is told of those moments. */
export interface KnownKey {
  readonly id: KeyId
  readonly account: AccountRow
  readonly expiresAt: number | undefined
  /** Of a secret that was replaced: from then on it is nobody's. */
  readonly formerUntil: number | undefined
  /** What holds as long as the key has not expired. */
  readonly outcome: CallerOutcome
  /** What holds once the subscription has ended by itself. */
  readonly lapsed: { readonly from: number; readonly outcome: CallerOutcome } | undefined
}

export const UNKNOWN = { kind: 'refused', reason: 'unknown' } as const
const EXPIRED = { kind: 'refused', reason: 'expired' } as const

export function judgeKey({ expiresAt, formerUntil, lapsed, outcome }: KnownKey, now: number): CallerOutcome {
  if (formerUntil !== undefined && formerUntil <= now) return UNKNOWN
  if (expiresAt !== undefined && expiresAt <= now && !isRevoked(outcome)) return EXPIRED
  return lapsed !== undefined && lapsed.from <= now ? lapsed.outcome : outcome
}

const isRevoked = (outcome: CallerOutcome): boolean => outcome.kind === 'refused' && outcome.reason === 'revoked'

/** `by` says with which of its two secrets it was found. */
export function knownKeyOf(key: KeyWithAccount, by: 'present' | 'former'): KnownKey {
  const refusal = refusalOf(key)
  const known = {
    id: key.id as KeyId,
    account: key.account as AccountRow,
    expiresAt: key.expires_at ?? undefined,
    formerUntil: by === 'former' ? (key.former_until ?? 0) : undefined,
  }
  if (refusal) return { ...known, lapsed: undefined, outcome: { kind: 'refused', reason: refusal } }
  const caller = callerOf(key)
  const from = caller.plan?.endsAt
  const lapsed = { kind: 'caller', caller: { ...caller, plan: undefined } } as const
  return {
    ...known,
    lapsed: from === undefined ? undefined : { from, outcome: lapsed },
    outcome: { kind: 'caller', caller },
  }
}

/** The most final reason first: it is the one worth telling. */
function refusalOf(key: KeyWithAccount): CallerRefusal | undefined {
  if (key.revoked_at !== null) return 'revoked'
  if (key.disabled_at !== null) return 'disabled'
  if (key.account_status === 'closed') return 'account-closed'
  return key.account_status === 'suspended' ? 'account-suspended' : undefined
}

const callerOf = (key: KeyWithAccount): Caller => ({
  accountId: key.account_id as AccountId,
  account: key.account as AccountRow,
  keyId: key.id as KeyId,
  key: key.row as KeyRow,
  keyName: key.name,
  kind: key.kind,
  models: key.models === null ? undefined : (JSON.parse(key.models) as string[]),
  limits: key.limits === null ? {} : (JSON.parse(key.limits) as LimitRates),
  caps: allowancesOfCaps(key.row as KeyRow, { day: key.cap_day_nano, month: key.cap_month_nano }),
  plan: key.kind === 'builder' ? planOf(key) : undefined,
})

const planOf = ({ plan, plan_ends_at }: KeyWithAccount): CallerPlan | undefined =>
  plan === null ? undefined : { id: plan, endsAt: plan_ends_at ?? undefined }
