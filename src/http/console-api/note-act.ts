import { type AuditAction, recordAudit } from '../../account/audit-trail.ts'
import type { AskingPerson } from './ask.ts'
import type { ConsoleHouse } from './console-house.ts'

export interface Act {
  readonly action: AuditAction
  readonly target?: string | undefined
  /** Whose owner may read of it. */
  readonly account?: number | undefined
  readonly detail: string
}

/** Who has done what, for the trail. It is written when it is done: an act that was refused is none. */
export const noteAct = ({ people }: ConsoleHouse, { session }: AskingPerson, act: Act): Promise<void> =>
  recordAudit(people, { actor: session.person.email, account: session.account?.row, ...act })
