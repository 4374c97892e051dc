import { asProvider, receiveEvent } from '../admin/payment-news.ts'
import { PaymentProviderFailed } from '../payments/provider.ts'
import { receiveForm } from './json-route.ts'
import { refuseUnknownPath } from './paths.ts'
import type { RequestContext } from './request-context.ts'
import { sendJson, sendProblem } from './respond.ts'

/** The largest event has a subscription with a few dozen lines. */
const EVENT_BYTES_MAX = 1024 * 1024

/**
 * Takes a delivery of Stripe, which has no session and no key: its signature is checked over the bytes as they came. A success
 * says that the event is durable; after anything else Stripe sends it again.
 */
export async function receiveStripeEvent(context: RequestContext): Promise<void> {
  const { edge, request } = context
  if (edge.admin.payments === undefined) {
    return sendProblem(context, refuseUnknownPath(request.method ?? 'POST', context.path, []))
  }
  const form = await receiveForm(context, EVENT_BYTES_MAX)
  switch (form.kind) {
    case 'disconnected':
      return
    case 'broken':
      return sendProblem(context, form.problem)
    case 'too-large':
      return refuse(context, 413, `The event is larger than ${EVENT_BYTES_MAX} bytes.`)
  }
  const { 'stripe-signature': signature } = request.headers
  if (typeof signature !== 'string') return refuse(context, 400, 'The header Stripe-Signature is missing.')
  try {
    const services = { ...edge.admin, auditLog: asProvider(edge.admin) }
    const outcome = await receiveEvent(services, form.bytes, signature)
    if (outcome.kind === 'refused') return refuse(context, 400, outcome.message)
    sendJson(context, 200, { received: true })
  } catch (error) {
    if (!(error instanceof PaymentProviderFailed)) throw error
    refuse(context, 503, 'Stripe could not be asked about this event. Send it again.')
  }
}

const refuse = (context: RequestContext, status: number, message: string): void =>
  sendJson(context, status, { error: { message } })
