/** Why a use case was refused. A closed list, so that scripts and the console can rely on the codes. */
export type RefusalReason =
  | 'invalid_arguments'
  | 'unknown_operation'
  | 'account_not_found'
  | 'account_exists'
  | 'account_closed'
  | 'key_not_found'
  | 'key_revoked'
  | 'key_changed'
  | 'key_without_secret'
  | 'too_many_keys'
  | 'confirm_password'
  | 'invalid_grace'
  | 'account_suspended'
  | 'code_not_found'
  | 'code_mistyped'
  | 'code_redeemed'
  | 'too_many_tries'
  | 'wallet_full'
  | 'model_not_found'
  | 'request_not_found'
  | 'window_not_found'
  | 'invalid_cursor'
  | 'invalid_range'
  | 'invalid_amount'
  | 'invalid_expiry'
  | 'plan_not_found'
  | 'no_subscription'
  | 'ref_taken'
  | 'balance_too_small'
  | 'wrong_password'
  | 'busy'
  | 'invite_not_valid'
  | 'email_missing'
  | 'person_exists'
  | 'person_not_found'
  | 'person_disabled'
  | 'last_operator'
  | 'session_not_found'

export interface Done<Value> {
  readonly kind: 'done'
  readonly value: Value
}

export interface Refused extends Advice {
  readonly kind: 'refused'
  readonly reason: RefusalReason
  /** A sentence for the caller: what was received, and what to do next. */
  readonly message: string
}

interface Advice {
  /** The invalid field of the request: `amount`, `caps.day`. */
  readonly param?: string
  /** Whole seconds, if a later retry helps. */
  readonly retryAfterSeconds?: number
}

/**
 * The result of a use case. Values are plain JSON in the spelling of the API (snake_case, money as decimal strings, times
 * as ISO 8601), because the admin socket, `--json` and HTTP return the same value.
 */
export type Outcome<Value> = Done<Value> | Refused

export const done = <Value>(value: Value): Done<Value> => ({ kind: 'done', value })

export const refused = (reason: RefusalReason, message: string, advice: Advice = {}): Refused => ({
  kind: 'refused',
  reason,
  message,
  ...advice,
})
