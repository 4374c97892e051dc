import { eventInsert, eventsDelete, findPaymentEvent } from '../db/payments.ts'
import { applyPaymentNews, applySubscriptionNews, type PaymentServices } from './payment-news.ts'

/** `done`: it is durable, so the provider need not send it again. */
type EventOutcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'off' }
  | { readonly kind: 'refused'; readonly message: string }

/** Takes a delivery of the provider. Everything that it leads to can be done twice, and its id is noted last. */
export async function receiveEvent(services: PaymentServices, body: Buffer, signature: string): Promise<EventOutcome> {
  const { payments, db, clock, files } = services
  if (payments === undefined) return { kind: 'off' }
  const verified = await payments.provider.verifyEvent(body, signature, clock.now())
  if (verified.kind === 'refused') return verified
  const { id, type, news } = verified.event
  if (news.kind === 'ignored' || (await findPaymentEvent(db, id)) !== undefined) return { kind: 'done' }
  if (news.kind === 'payment') await applyPaymentNews(services, news.payment)
  else await applySubscriptionNews(services, news.subscription)
  await files.ledger.atomic([eventInsert(id, type, clock.now())])
  return { kind: 'done' }
}

/** The provider sends an event again for three days. */
const EVENTS_KEPT_MS = 30 * 86_400_000

export const sweepPaymentEvents = ({ files, clock }: Pick<PaymentServices, 'files' | 'clock'>) =>
  files.ledger.atomic([eventsDelete(clock.now() - EVENTS_KEPT_MS)])
