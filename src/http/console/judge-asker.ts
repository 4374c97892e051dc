import type { AnyRoute, Asker } from '../../contract/route.ts'
import type { Asking, AskingAs, AskingOwner, AskingPerson } from './api/ask.ts'
import { type ConsoleRefusal, refuse } from './console-refusal.ts'
import { isCsrfToken } from './same-site.ts'

/** What is asked, as far as it matters for who may. */
export interface Asked<Who extends Asker> extends Confirmed {
  readonly who: Who
}

type Confirmed = Pick<AnyRoute, 'confirmed'>

export type Judgement<Whoever extends Asking> = { readonly kind: 'may'; readonly asking: Whoever } | ConsoleRefusal

/** So long keys and money may be touched after a password. */
export const CONFIRMED_MS = 15 * 60_000

/** Whether whoever asks may, by their session alone: nothing of the question has been read. Every route asks here. */
export const judgeAsker = <Who extends Asker>(
  asking: Asking,
  asked: Asked<Who>,
  now: number,
): Judgement<AskingAs[Who]> => JUDGES[asked.who](asking, asked, now)

const JUDGES: { readonly [Who in Asker]: (asking: Asking, asked: Confirmed, now: number) => Judgement<AskingAs[Who]> } =
  {
    anyone: (asking) => mayTravel(asking) ?? { kind: 'may', asking },
    'signed-in': judgePerson,
    owner: judgeOwner,
    operator: judgeOperator,
  }

function judgeOperator(asking: Asking, asked: Confirmed, now: number): Judgement<AskingPerson> {
  const judged = judgePerson(asking, asked, now)
  if (judged.kind === 'refused') return judged
  return judged.asking.session.person.role === 'operator' ? judged : OPERATORS_ONLY
}

/**
 * Somebody with an account. What is an owner's to see is theirs whatever has become of it; what they could do with it is
 * not.
 */
function judgeOwner(asking: Asking, asked: Confirmed, now: number): Judgement<AskingOwner> {
  const judged = judgePerson(asking, asked, now)
  if (judged.kind === 'refused') return judged
  const { account } = judged.asking.session
  if (account === undefined) return NO_ACCOUNT
  if (asking.changes && account.status !== 'active') return account.status === 'closed' ? CLOSED : SUSPENDED
  return { kind: 'may', asking: { ...judged.asking, account } }
}

function judgePerson(asking: Asking, asked: Confirmed, now: number): Judgement<AskingPerson> {
  const refusal = mayTravel(asking)
  if (refusal !== undefined) return refusal
  const { signedIn } = asking
  if (signedIn === undefined) return refuse('session_ended', 'You are not signed in any more. Sign in again.')
  const { secret, session } = signedIn
  if (asking.changes && !isCsrfToken(asking.csrfToken, secret)) {
    return refuse('other_site', 'This page is of an older session. Load it again.')
  }
  const isConfirmed = session.confirmedAt + CONFIRMED_MS > now
  if (asked.confirmed === true && !isConfirmed) return CONFIRM
  return { kind: 'may', asking: { ...asking, signedIn, session, isConfirmed } }
}

/** Undefined where what is sent may travel as it does. */
const mayTravel = ({ site, changes }: Asking): ConsoleRefusal | undefined =>
  changes && !site.isPrivate ? HTTPS_NEEDED : undefined

const HTTPS_NEEDED = refuse(
  'https_needed',
  'Passwords would travel in the clear. Open the console over https, or on the machine itself. ' +
    'Its operator can put TLS in front and set server.public_url.',
)
const CONFIRM = refuse('confirm_password', 'Keys and money need your password again, as it was given a while ago.')
const OPERATORS_ONLY = refuse('operators_only', 'Only operators of this server may do this.')
const NO_ACCOUNT = refuse('no_account', 'You have no account of your own here: keys and money belong to accounts.')
const SUSPENDED = refuse(
  'account_suspended',
  'This account is suspended: everything can be read, and nothing done. Ask the operator of this server.',
)
const CLOSED = refuse('account_closed', 'This account is closed: everything can be read, and nothing done.')
