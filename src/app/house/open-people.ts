import { createPeopleDeps, type PeopleDeps } from '../../account/people/people-deps.ts'
import { createLockoutKeeper, listLockouts } from '../../content/lockouts.ts'
import type { Closing } from '../../lib/closing.ts'
import { deriveKey } from '../../lib/derive-key.ts'
import { urlOf } from '../../lib/local-address.ts'
import type { Contents, Foundation } from './parts.ts'

/** Whoever signs in, with the lockouts that a restart shall not lift. */
export async function openPeople(
  { config: { server }, clock, random, ring, database: { db, file }, log }: Foundation,
  { content }: Contents,
  closing: Closing,
): Promise<PeopleDeps> {
  const lockouts = createLockoutKeeper({
    ...{ file: content, now: () => clock.now() },
    onFailure: (error) => log.error({ error }, 'a lockout could not be written down; a restart would lift it'),
  })
  closing.add(() => lockouts.close())
  const people = createPeopleDeps({
    ...{ db, file, clock, random, lockouts, secret: deriveKey(ring.founding.secret, 'people') },
    consoleUrl: () => `${server.publicUrl ?? urlOf(server.host, server.port)}/console`,
    onFailure: (error) => log.error({ error }, 'that a session was used could not be written down'),
  })
  people.tries.restore(await listLockouts(content, clock.now()))
  return people
}
