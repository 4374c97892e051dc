import { expect, it } from 'vitest'
import { problems as german } from '../../console/messages/de/common.ts'
import { problems } from '../../console/messages/en/common.ts'
import { REFUSAL_STATUSES } from '../../src/server/route-replies.ts'

/** The server's sentence contains an amount, a name or a field, so the console shows it as it is. */
const SHOWN_AS_SENT = [
  ...['host_not_allowed', 'invalid_arguments', 'invalid_amount', 'invalid_expiry', 'invalid_grace', 'invalid_range'],
  ...['account_not_found', 'account_exists', 'person_exists', 'person_not_found', 'person_disabled', 'last_operator'],
  ...['passkeys_unavailable', 'too_many_passkeys'],
  ...['model_not_found', 'plan_not_found', 'ref_taken', 'balance_too_small', 'wallet_full', 'invalid_webhook'],
  ...['webhook_not_found', 'delivery_not_found', 'run_not_found', 'too_many_webhooks', 'webhook_changed'],
  ...['payment_failed', 'plan_bought'],
  ...['conversation_not_found', 'conversations_full', 'conversations_off'],
  ...['owned_by_file', 'managed_not_found', 'managed_invalid', 'managed_too_many', 'plan_in_use'],
]

/** `confirm_password` opens a dialog; the code refusals are shown at their field (`messages/en/wallet.ts`), `password_off` at the sign-in. */
const SHOWN_ELSEWHERE = ['confirm_password', 'code_needed', 'password_off', 'code_mistyped', 'code_redeemed']

/** No page of the console can cause them. */
const NEVER_CAUSED = [
  ...['method_not_allowed', 'body_too_large', 'json_needed', 'unknown_operation', 'database_keeps_time'],
  ...['admin_key_not_found', 'scope_exceeded', 'plan_changed', 'team_not_found', 'team_exists', 'cap_not_found'],
  ...['backup_refused', 'mail_not_configured', 'mail_failed'],
  'not_serving',
]

/** Codes of the console itself: no answer, a late or partial one, or a missing file. */
const CONSOLE_ONLY = [
  ...['unexpected', 'unreachable', 'no_answer', 'stream_cut', 'part_lost'],
  ...['no_passkey', 'passkey_known'],
]

it('every console code has a message or a reason to have none', () => {
  const withoutMessage = [...SHOWN_AS_SENT, ...SHOWN_ELSEWHERE, ...NEVER_CAUSED]
  const withMessage = Object.keys(problems.codes)
  expect([...withMessage, ...withoutMessage].toSorted()).toEqual(
    [...Object.keys(REFUSAL_STATUSES), ...CONSOLE_ONLY].toSorted(),
  )
})

it('every message is a whole sentence in both languages', () => {
  for (const { codes } of [problems, german]) {
    for (const [code, text] of Object.entries(codes)) expect(text, code).toMatch(/^[A-ZÄÖÜ][^`]+\.$/)
  }
})
