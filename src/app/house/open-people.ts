import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createPeopleDeps, type PeopleDeps } from '../../account/people/people-deps.ts'
import { createLockoutKeeper, listLockouts } from '../../content/lockouts.ts'
import type { Closing } from '../../lib/closing.ts'
import { deriveKey } from '../../lib/derive-key.ts'
import { urlOf } from '../../lib/local-address.ts'
import type { Contents, Foundation } from './parts.ts'

/** Where the link for the first person is, when nobody reads what the start prints. */
export const consoleSetupFile = (data: string): string => join(data, 'console-setup')

/** Whoever signs in, with the lockouts that a restart shall not lift. */
export async function openPeople(
  { config: { server, storage }, clock, random, ring, database: { db, file }, log }: Foundation,
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
    onFailure: (error) => log.error({ error }, 'a file or a row of people who sign in could not be brought up to date'),
    onFirstPerson: () => rm(consoleSetupFile(storage.data), { force: true }),
  })
  const kept = await listLockouts(content, clock.now()).catch((error: unknown) => {
    log.error({ error }, 'lockouts could not be read; those from before this start are lifted')
    return []
  })
  people.tries.restore(kept)
  return people
}
