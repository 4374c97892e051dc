import type { StoredPerson } from '../store/people.ts'
import type { Client } from './open-session.ts'
import { type Refused, refused } from './outcome.ts'
import type { PeopleDeps } from './people-deps.ts'
import type { Lockout } from './sign-in-tries.ts'

interface Question {
  /** Whose tries it counts as: an e-mail, or a session that is asked again. */
  readonly name: string
  readonly client: Client
  /** Undefined for an e-mail that nobody has: the same time goes by, and the same is said. */
  readonly person: StoredPerson | undefined
  readonly password: string
  readonly onLockout: (lockout: Lockout) => Promise<void>
}

export type PasswordCheck = { readonly kind: 'right' } | { readonly kind: 'wrong' } | Refused

/** Within a second or two a queue of hashes is through. */
const BUSY_SECONDS = 2

/** Every password that somebody gives goes through here: counted before it is looked at, forgiven when it was right. */
export async function checkPassword(deps: PeopleDeps, question: Question): Promise<PasswordCheck> {
  const { name, client, person, password } = question
  const trier = { name, address: client.address }
  const taken = deps.tries.take(trier)
  if (taken.kind === 'locked') {
    if (taken.first) await question.onLockout(taken)
    return tooManyTries(taken)
  }
  const checked = await deps.passwords.check(password, person?.password)
  if (checked === 'busy') {
    deps.tries.giveBack(trier)
    return tooBusy()
  }
  if (checked === 'wrong' || person?.disabled_at !== null) return { kind: 'wrong' }
  deps.tries.forgive(trier)
  return { kind: 'right' }
}

export const tooBusy = (): Refused =>
  refused('busy', 'The server is busy with sign-ins. Try again in a moment.', { retryAfter: BUSY_SECONDS })

const tooManyTries = ({ retryAfter }: Lockout): Refused =>
  refused('too_many_tries', `Too many tries. Try again in ${waitInWords(retryAfter)}.`, { retryAfter })

const waitInWords = (seconds: number): string => (seconds < 120 ? `${seconds} s` : `${Math.ceil(seconds / 60)} min`)
