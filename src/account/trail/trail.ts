import { type AtomicStatement, UnexpectedChanges } from '../../sqlite/sqlite-file.ts'
import type { Outcome } from '../outcome.ts'
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

/** What came of an order that the books were given: `void` says why nothing moved. */
export interface CarriedOut<Value> {
  readonly outcome: Outcome<Value>
  readonly void?: string
}

/**
 * An order to the books, which record it with the requests of that moment. Its line is in the trail before that, with the
 * reference by which the books know it, so that no crash in between loses who gave it; whether it was carried out, the
 * books themselves say. One that moves nothing gets a second line, and so does one that failed.
 */
export async function carryOutOrder<Value>(
  { trail }: { readonly trail: Trail },
  order: Act & { readonly detail: string },
  run: () => Promise<CarriedOut<Value>>,
): Promise<Outcome<Value>> {
  const tellOfIt = (action: 'order_void' | 'order_failed', why: string): Promise<void> =>
    trail.announce({ ...order, action, detail: `${why}: ${order.detail}` })
  await trail.announce(order)
  const carriedOut = await run().catch(async (error: unknown) => {
    // A trail that cannot be written either is no news to whoever is told of the first failure.
    await tellOfIt('order_failed', (error as Error).message).catch(() => {})
    throw error
  })
  const { outcome } = carriedOut
  const why = carriedOut.void ?? (outcome.kind === 'refused' ? outcome.reason : undefined)
  if (why !== undefined) await tellOfIt('order_void', why)
  return outcome
}
