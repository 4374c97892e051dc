import { type AtomicStatement, UnexpectedChanges } from '../sqlite/sqlite-file.ts'
import type { AuditEntry, AuditTrail } from './audit-trail.ts'

/** An act, without whose it is. */
export type Act = Omit<AuditEntry, 'actor'>

/** The audit trail in the hand of somebody who acts: what they do there is theirs. */
export interface Trail {
  /**
   * Does what the statements say and tells of it, in one step. False where one of them found something else than it was
   * made for: nothing was done then, and nothing is told.
   */
  act(act: Act, statements: readonly AtomicStatement[]): Promise<boolean>
  /** Tells of it before it is done, because the books do that in a step of their own. */
  announce(act: Act): Promise<void>
}

export const trailOf = (audit: AuditTrail, actor: string): Trail => ({
  async act(act, statements) {
    try {
      await audit.record({ ...act, actor }, statements)
      return true
    } catch (error) {
      if (error instanceof UnexpectedChanges) return false
      throw error
    }
  },
  announce: (act) => audit.record({ ...act, actor }),
})
