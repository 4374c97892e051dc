import type { Outcome } from './outcome.ts'
import type { Act, Trail } from './trail.ts'

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
