import { asProvider, receiveEvent } from '../admin/payment-news.ts'
import { PaymentProviderFailed } from '../payments/provider.ts'
import { TOLERANCE_SECONDS } from '../payments/stripe.ts'
import { countUnauthenticated } from './auth.ts'
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
  const { 'stripe-signature': signature } = request.headers
  if (typeof signature !== 'string') return refuseSignature(context, 'The header Stripe-Signature is missing.')
  if (!mayBeSignature(signature, edge.clock.now()))
    return refuseSignature(context, 'The header Stripe-Signature is not a signature, or is too old.')
  const form = await receiveForm(context, { bytesMax: EVENT_BYTES_MAX, memory: edge.deliveryMemory })
  switch (form.kind) {
    case 'disconnected':
      return
    case 'broken':
      return sendProblem(context, form.problem)
    case 'too-large':
      return refuse(context, 413, `The event is larger than ${EVENT_BYTES_MAX} bytes.`)
  }
  try {
    const services = { ...edge.admin, auditLog: asProvider(edge.admin) }
    const outcome = await receiveEvent(services, form.bytes, signature)
    if (outcome.kind === 'refused') return refuseSignature(context, outcome.message)
    sendJson(context, 200, { received: true })
  } catch (error) {
    if (!(error instanceof PaymentProviderFailed)) throw error
    refuse(context, 503, 'Stripe could not be asked about this event. Send it again.')
  }
}

const SIGNED_AT = /(?:^|,)t=(\d{1,12})(?:,|$)/
const SIGNATURE = /(?:^|,)v1=[0-9a-f]{64}(?:,|$)/

/** Checked before the body is read: anyone can send one here. */
function mayBeSignature(header: string, now: number): boolean {
  const signedAt = SIGNED_AT.exec(header)?.[1]
  return signedAt !== undefined && now / 1000 - Number(signedAt) <= TOLERANCE_SECONDS + 1 && SIGNATURE.test(header)
}

/** Counts against the client's address, as a wrong key does. */
function refuseSignature(context: RequestContext, message: string): void {
  const limited = countUnauthenticated(context)
  if (limited === undefined) refuse(context, 400, message)
  else sendProblem(context, limited)
}

const refuse = (context: RequestContext, status: number, message: string): void =>
  sendJson(context, status, { error: { message } })
