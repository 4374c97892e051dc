import { expect, it } from 'vitest'
import { problems as german } from '../../console/messages/de/common.ts'
import { problems } from '../../console/messages/en/common.ts'
import { CONSOLE_CODES } from '../../src/server/console/errors.ts'

/** The sentence of the server has an amount, a name or a field in it, and says more than a word for its code could. */
const SAID_BY_THE_SERVER = [
  ...['host_not_allowed', 'invalid_arguments', 'invalid_amount', 'invalid_expiry', 'invalid_grace', 'invalid_range'],
  ...['account_not_found', 'account_exists', 'person_exists', 'person_not_found', 'person_disabled', 'last_operator'],
  ...['model_not_found', 'plan_not_found', 'ref_taken', 'balance_too_small', 'wallet_full'],
]

/** `confirm_password` is a question, and codes are judged at their field (`words/en/wallet.ts`). */
const SAID_ELSEWHERE = ['confirm_password', 'code_mistyped', 'code_redeemed']

/** No page of ours gives reason for them. */
const NEVER_MET = ['method_not_allowed', 'body_too_large', 'json_needed', 'unknown_operation']

/** Of the console itself: nothing was answered, not in time, or not all of it; or a part of it is not there. */
const OURS = ['unexpected', 'unreachable', 'no_answer', 'stream_cut', 'part_lost']

it('every code that the console is told is worded, or left to the server for a reason', () => {
  const left = [...SAID_BY_THE_SERVER, ...SAID_ELSEWHERE, ...NEVER_MET]
  const worded = Object.keys(problems.codes)
  expect([...worded, ...left].toSorted()).toEqual([...Object.keys(CONSOLE_CODES), ...OURS].toSorted())
})

it('in words that somebody at a screen can use, and in either language', () => {
  for (const { codes } of [problems, german]) {
    for (const [code, text] of Object.entries(codes)) expect(text, code).toMatch(/^[A-ZÄÖÜ][^`]+\.$/)
  }
})
