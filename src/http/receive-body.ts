import type { Problem } from '../model/problem.ts'
import { collectBody, tooLarge } from './collect-body.ts'
import { readContentCoding } from './content-coding.ts'
import { refuseContentType } from './content-type.ts'
import type { Exchange } from './exchange.ts'
import { giveWay } from './give-way.ts'
import type { LoadPlace } from './load-guard.ts'

export type ReceivedBody =
  | { readonly kind: 'received'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly problem: Problem }
  /** The client went before its body was complete: there is nobody to answer. */
  | { readonly kind: 'gone' }

/** The body as bytes, or the problem with it; what the head gives away is refused first. */
export async function receiveBody(exchange: Exchange, place: LoadPlace): Promise<ReceivedBody> {
  const { request, response, connection, edge } = exchange
  const { bytesMax } = edge.options.body
  const coding = readContentCoding(request.headers)
  const refusal =
    refuseContentType(request.headers['content-type']) ?? (coding.kind === 'refused' ? coding.problem : undefined)
  if (refusal) return { kind: 'refused', problem: refusal }
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return { kind: 'refused', problem: tooLarge(bytesMax) }
  if (request.destroyed) return { kind: 'gone' }
  if (connection.failure && !request.complete) return { kind: 'refused', problem: connection.failure }

  if (exchange.expectation === 'continue') {
    response.writeContinue()
    exchange.expectation = 'none'
  }
  const collected = await collectBody(exchange, place, coding.kind === 'coded' ? coding.createDecoder() : undefined)
  if (collected.kind !== 'collected') return collected
  await giveWay(collected.bytes)
  return { kind: 'received', bytes: collected.bytes }
}
