/**
 * Why a use case was refused, and the status with which the console answers. A closed list, so that scripts and the console can
 * rely on the codes.
 */
export const REFUSALS = {
  invalid_arguments: 400,
  unknown_operation: 400,
  account_not_found: 404,
  account_exists: 409,
  account_closed: 409,
  key_not_found: 404,
  key_revoked: 409,
  key_changed: 409,
  key_without_secret: 409,
  too_many_keys: 409,
  confirm_password: 403,
  invalid_grace: 400,
  account_suspended: 403,
  code_not_found: 404,
  code_mistyped: 400,
  code_redeemed: 409,
  too_many_tries: 429,
  wallet_full: 409,
  model_not_found: 404,
  request_not_found: 404,
  run_not_found: 404,
  window_not_found: 404,
  invalid_cursor: 400,
  invalid_range: 400,
  invalid_amount: 400,
  invalid_expiry: 400,
  plan_not_found: 404,
  no_subscription: 409,
  ref_taken: 409,
  balance_too_small: 409,
  wrong_password: 403,
  code_needed: 403,
  wrong_code: 403,
  factor_exists: 409,
  factor_not_found: 404,
  last_factor: 409,
  passkey_refused: 403,
  passkey_not_found: 404,
  passkeys_unavailable: 409,
  too_many_passkeys: 409,
  password_off: 403,
  busy: 503,
  invite_not_valid: 403,
  email_missing: 400,
  person_exists: 409,
  person_not_found: 404,
  person_disabled: 409,
  person_changed: 409,
  last_operator: 409,
  last_owner: 409,
  role_too_low: 403,
  session_not_found: 404,
  team_not_found: 404,
  team_exists: 409,
  cap_not_found: 404,
  conversation_not_found: 404,
  conversations_full: 409,
  conversations_off: 409,
  webhook_not_found: 404,
  delivery_not_found: 404,
  invalid_webhook: 400,
  too_many_webhooks: 409,
  webhook_changed: 409,
  mail_not_configured: 409,
  mail_failed: 409,
  database_keeps_time: 409,
  admin_key_not_found: 404,
  scope_exceeded: 403,
  plan_changed: 409,
  payments_off: 409,
  payment_not_found: 404,
  payment_failed: 502,
  too_many_payments: 429,
  too_many_invitations: 429,
  no_saved_card: 409,
  plan_bought: 409,
  backup_refused: 409,
  not_serving: 409,
  owned_by_file: 409,
  managed_not_found: 404,
  managed_invalid: 400,
  managed_outdated: 409,
  managed_key_needed: 400,
  managed_too_many: 409,
  plan_in_use: 409,
} as const

export type RefusalReason = keyof typeof REFUSALS

export interface Done<Value> {
  readonly kind: 'done'
  readonly value: Value
}

export interface OperationRefused extends Advice {
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
export type Outcome<Value> = Done<Value> | OperationRefused

export const done = <Value>(value: Value): Done<Value> => ({ kind: 'done', value })

/** Goes on with the value of an outcome, unless it was refused. */
export async function ifDone<Value, Next>(
  outcome: Promise<Outcome<Value>>,
  next: (value: Value) => Next | Promise<Next>,
): Promise<Next | OperationRefused> {
  const ended = await outcome
  return ended.kind === 'refused' ? ended : next(ended.value)
}

export const refuseOperation = (reason: RefusalReason, message: string, advice: Advice = {}): OperationRefused => ({
  kind: 'refused',
  reason,
  message,
  ...advice,
})
