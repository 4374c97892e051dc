import type { KeyKind } from '../../model/caller.ts'
import type { LimitRates } from '../../model/limit.ts'
import { formatUsd } from '../../model/money.ts'
import type { StoredKey } from '../../store/keys.ts'
import { isoTime, isoTimeOrNull } from '../moments.ts'

export type KeyState = 'active' | 'disabled' | 'expired' | 'revoked'

export interface LimitsView {
  readonly requests_per_minute?: number
  readonly tokens_per_minute?: number
  readonly concurrent?: number
}

export interface CapsView {
  readonly day?: string
  readonly month?: string
}

/** A key as it is listed: never the secret, which is stored nowhere. */
export interface KeyView {
  readonly id: string
  readonly account: string
  readonly email: string
  readonly kind: KeyKind
  readonly name: string
  /** What a person recognises it by: its beginning and its end. */
  readonly shown: string
  readonly state: KeyState
  /** Of the console's playground: no program can use it. */
  readonly playground: boolean
  /** Ids and globs; null admits every model of its kind. */
  readonly models: readonly string[] | null
  readonly limits: LimitsView
  /** What it may spend in a day or a month of UTC, in USD. */
  readonly caps: CapsView
  readonly expires_at: string | null
  readonly created_at: string
  /** While a rotation lasts: the secret that it had before still works until then. */
  readonly former: FormerSecret | null
}

export interface FormerSecret {
  readonly shown: string
  readonly until: string
}

/** Revoked is final, so it is said first; expired beats disabled because enabling would not help. */
export function keyStateOf(key: Pick<StoredKey, 'revoked_at' | 'expires_at' | 'disabled_at'>, now: number): KeyState {
  if (key.revoked_at !== null) return 'revoked'
  if (key.expires_at !== null && key.expires_at <= now) return 'expired'
  return key.disabled_at === null ? 'active' : 'disabled'
}

export const keyView = (
  key: StoredKey,
  owner: { readonly id: string; readonly email: string },
  now: number,
): KeyView => ({
  id: key.id,
  account: owner.id,
  email: owner.email,
  kind: key.kind,
  name: key.name,
  shown: key.shown,
  state: keyStateOf(key, now),
  playground: key.playground === 1,
  models: key.models === null ? null : (JSON.parse(key.models) as string[]),
  limits: limitsView(key.limits === null ? {} : (JSON.parse(key.limits) as LimitRates)),
  caps: capsView(key),
  expires_at: isoTimeOrNull(key.expires_at),
  created_at: isoTime(key.created_at),
  former: formerOf(key, now),
})

/** None of a key that is revoked: that has ended both. */
export function formerOf(
  { former_shown, former_until, revoked_at }: Pick<StoredKey, 'former_shown' | 'former_until' | 'revoked_at'>,
  now: number,
): FormerSecret | null {
  if (former_shown === null || former_until === null || former_until <= now || revoked_at !== null) return null
  return { shown: former_shown, until: isoTime(former_until) }
}

export const limitsView = (limits: LimitRates): LimitsView => ({
  ...(limits.requestsPerMinute !== undefined && { requests_per_minute: limits.requestsPerMinute }),
  ...(limits.tokensPerMinute !== undefined && { tokens_per_minute: limits.tokensPerMinute }),
  ...(limits.concurrent !== undefined && { concurrent: limits.concurrent }),
})

const capsView = ({ cap_day_nano, cap_month_nano }: StoredKey): CapsView => ({
  ...(cap_day_nano !== null && { day: formatUsd(cap_day_nano) }),
  ...(cap_month_nano !== null && { month: formatUsd(cap_month_nano) }),
})

/** For the trail: what was done to which key. */
export const keyInWords = (what: string, { name, kind }: { readonly name: string; readonly kind: KeyKind }): string =>
  `${what} ${JSON.stringify(name)} (${kind})`
