import type { Context } from 'hono'
import type { AnyRoute } from '../../contract/route.ts'
import type { ConsoleCode } from '../console/console-codes.ts'
import { isCsrfToken } from '../console/same-site.ts'
import type { Asking, AskingOwner, AskingPerson } from './ask.ts'

type Judgement =
  | { readonly kind: 'may'; readonly asking: Asking | AskingPerson | AskingOwner }
  | { readonly kind: 'refused'; readonly code: ConsoleCode; readonly message: string }

/** So long keys and money may be touched after a password. */
export const CONFIRMED_MS = 15 * 60_000

const refuse = (code: ConsoleCode, message: string): Judgement => ({ kind: 'refused', code, message })

/** Whether whoever asks may, by their session alone: nothing of the question has been read. */
export function judgeAsker(context: Context<{ Bindings: Asking }>, route: AnyRoute, now: number): Judgement {
  const asking = context.env
  const { signedIn, site } = asking
  const changes = context.req.method !== 'GET'
  if (!site.isPrivate && changes) return refuse('https_needed', HTTPS_NEEDED)
  if (route.who === 'anyone') return { kind: 'may', asking }
  if (signedIn === undefined) return refuse('session_ended', 'You are not signed in any more. Sign in again.')
  const { secret, session } = signedIn
  if (changes && !isCsrfToken(context.req.header('x-csrf-token'), secret)) {
    return refuse('other_site', 'This page is of an older session. Load it again.')
  }
  if (route.confirmed && session.confirmedAt + CONFIRMED_MS <= now) {
    return refuse('confirm_password', 'Keys and money need your password again, as it was given a while ago.')
  }
  return judgeRole({ ...asking, signedIn, session }, route)
}

function judgeRole(asking: AskingPerson, { who }: AnyRoute): Judgement {
  const { account, person } = asking.session
  if (who === 'operator' && person.role !== 'operator') {
    return refuse('operators_only', 'Only operators of this server may do this.')
  }
  if (who !== 'owner') return { kind: 'may', asking }
  return account === undefined
    ? refuse('no_account', 'You have no account of your own here: keys and money belong to accounts.')
    : { kind: 'may', asking: { ...asking, account } }
}

const HTTPS_NEEDED =
  'Passwords would travel in the clear. Open the console over https, or on the machine itself. ' +
  'Its operator can put TLS in front and set server.public_url.'
