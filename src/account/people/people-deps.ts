import type { LockoutKeeper } from '../../content/lockouts.ts'
import { createPasswords, type Passwords } from '../../keys/hash-password.ts'
import { digestKey } from '../../keys/key-secret.ts'
import type { Clock } from '../../lib/clock.ts'
import { deriveKey } from '../../lib/derive-key.ts'
import type { RandomBytes } from '../../lib/random-id.ts'
import type { SqliteFile } from '../../sqlite/sqlite-file.ts'
import { sweepInvites } from '../../store/invites.ts'
import { sweepSessions } from '../../store/sessions.ts'
import type { LedgerDb } from '../../store/tables.ts'
import { type AuditTrail, createAuditTrail } from '../trail/audit-trail.ts'
import { createSessionFinder, IDLE_MS, type SessionFinder } from './find-session.ts'
import { createKnownDevices, type KnownDevices } from './known-devices.ts'
import { createSignInTries, type SignInTries } from './sign-in-tries.ts'

/** What the use cases of people who sign in share. There is one of it while the books are open. */
export interface PeopleDeps {
  readonly db: LedgerDb
  readonly file: SqliteFile
  readonly clock: Clock
  readonly random: RandomBytes
  readonly audit: AuditTrail
  readonly passwords: Passwords
  readonly sessions: SessionFinder
  readonly tries: SignInTries
  readonly devices: KnownDevices
  readonly digestSession: (secret: string) => Uint8Array
  readonly digestInvite: (letters: string) => Uint8Array
  /** Where the console is, without a slash at the end. */
  readonly consoleUrl: () => string
  /** The first person has signed up: the link for that is of no use any more. */
  readonly onFirstPerson: () => Promise<void>
}

interface PeopleGround extends Pick<PeopleDeps, 'db' | 'file' | 'clock' | 'random' | 'consoleUrl'> {
  /** Derived from the ring; whoever has it and the database can try secrets, which is hopeless. */
  readonly secret: Uint8Array
  readonly onFailure: (error: unknown) => void
  readonly lockouts: Pick<LockoutKeeper, 'keep' | 'drop'>
  readonly passwords?: Passwords
  readonly onFirstPerson?: () => Promise<void>
}

export function createPeopleDeps(ground: PeopleGround): PeopleDeps {
  const { db, file, clock, random, consoleUrl, secret, onFailure, lockouts } = ground
  const ofSessions = deriveKey(secret, 'sessions')
  const ofInvites = deriveKey(secret, 'invites')
  const ofTries = deriveKey(secret, 'tries')
  const digestSession = (text: string) => digestKey(ofSessions, text)
  return {
    ...{ db, file, clock, random, consoleUrl, digestSession },
    onFirstPerson: async () => ground.onFirstPerson?.().catch(onFailure),
    digestInvite: (letters) => digestKey(ofInvites, letters),
    audit: createAuditTrail({ db, file, clock }),
    passwords: ground.passwords ?? createPasswords(),
    sessions: createSessionFinder({ db, clock, digest: digestSession, onFailure }),
    tries: createSignInTries({
      clock,
      digest: (name) => Buffer.from(digestKey(ofTries, name)).toString('base64url'),
      keeper: lockouts,
    }),
    devices: createKnownDevices({ clock, random, secret: deriveKey(secret, 'devices') }),
  }
}

/** Takes away sessions and invitations that are over: they open nothing, and whoever asks is told the same without them. */
export async function sweepPeople({ file, clock }: Pick<PeopleDeps, 'file' | 'clock'>): Promise<void> {
  const now = clock.now()
  await sweepSessions(file, { now, idleSince: now - IDLE_MS })
  await sweepInvites(file, now)
}
