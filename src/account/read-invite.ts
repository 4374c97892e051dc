import type { z } from 'zod'
import type { invitation } from '../contract/people.ts'
import { readInviteCode } from '../keys/invite-code.ts'
import { findInviteByDigest, type StoredInvite } from '../store/invites.ts'
import { hasPeople } from '../store/people.ts'
import { isoTime } from './iso-time.ts'
import { done, type Outcome, type Refused, refused } from './outcome.ts'
import type { PeopleDeps } from './people-deps.ts'

/** What a link is for, so that the page can say it before a password is chosen. */
export async function readInvite(deps: PeopleDeps, code: string): Promise<Outcome<z.output<typeof invitation>>> {
  const invite = await findOpenInvite(deps, code)
  if (invite === undefined) return inviteNotValid()
  const { email, role, person, expires_at: expiresAt } = invite
  return done({ email, role, resets: person !== null, expires_at: isoTime(expiresAt) })
}

/** Undefined for what was never one, was used, is over, or is for the first person where there is one. */
export async function findOpenInvite(deps: PeopleDeps, code: string): Promise<StoredInvite | undefined> {
  const letters = readInviteCode(code)
  if (letters === undefined) return undefined
  const invite = await findInviteByDigest(deps.db, deps.digestInvite(letters))
  if (invite === undefined || invite.used_at !== null || invite.expires_at <= deps.clock.now()) return undefined
  return invite.email === null && (await hasPeople(deps.db)) ? undefined : invite
}

/** One sentence for all of them: who guesses codes learns nothing. */
export const inviteNotValid = (): Refused =>
  refused('invite_not_valid', 'This link is not valid any more, or was used. Ask the operator for a new one.')
