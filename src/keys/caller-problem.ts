import { assertNever } from '../lib/assert-never.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { CallerRefusal } from './known-key.ts'

export const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }

/** The answer to a caller that may not call (any more): the same at the door and when its body has arrived. */
export function callerProblem(reason: CallerRefusal): Problem {
  switch (reason) {
    case 'malformed':
      return invalid(
        'The API key is incomplete, mistyped or not one of this server, whose keys begin with mr_wallet_ or mr_builder_. Copy it again, whole.',
      )
    case 'unknown':
      return invalid('The API key is not known here. Check that it belongs to this server.')
    case 'expired':
      return invalid('The API key has expired. Create a new one.')
    case 'disabled':
      return invalid('The API key is disabled. Its owner can enable it again.')
    case 'revoked':
      return invalid('The API key was revoked. Create a new one.')
    case 'account-suspended':
      return problem('account_suspended', 'The account of this API key is suspended. Ask the operator of this server.')
    case 'account-closed':
      return invalid('The account of this API key is closed.')
    default:
      return assertNever(reason)
  }
}

const invalid = (message: string): Problem => problem('invalid_api_key', message, CHALLENGE)
