import { sweepInvites } from '../store/invites.ts'
import { sweepSessions } from '../store/sessions.ts'
import { IDLE_MS } from './find-session.ts'
import type { PeopleDeps } from './people-deps.ts'

/** Takes away sessions and invitations that are over: they open nothing, and whoever asks is told the same without them. */
export async function sweepPeople({ file, clock }: Pick<PeopleDeps, 'file' | 'clock'>): Promise<void> {
  const now = clock.now()
  await sweepSessions(file, { now, idleSince: now - IDLE_MS })
  await sweepInvites(file, now)
}
