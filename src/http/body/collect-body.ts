import type { IncomingMessage } from 'node:http'
import type { Transform } from 'node:stream'
import { gatherBytes } from '../../lib/gather-bytes.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import type { LoadPlace } from '../door/load-guard.ts'
import type { BodyBounds } from '../edge-options.ts'
import type { Exchange } from '../exchange.ts'

export type CollectOutcome =
  | { readonly kind: 'collected'; readonly bytes: Buffer }
  | Refused
  /** The client closed the connection before its body was complete. */
  | { readonly kind: 'gone' }

/** Text that repeats itself compresses well in honest hands too; so little does no harm however it was made. */
const UNSUSPICIOUS_BYTES = 1024 * 1024

/**
 * Reads a body to its end, decompressed if need be, and stops at the first bound that it breaks. Room is taken for what has
 * come, never for what a Content-Length promises.
 */
export function collectBody(
  exchange: Exchange,
  place: LoadPlace,
  decoder: Transform | undefined,
): Promise<CollectOutcome> {
  const { request, body, edge } = exchange
  const { bytesMax } = edge.options.body
  /** The bytes that count: those that come out of the decoder, where there is one. */
  const gathered = gatherBytes()

  return new Promise((resolve) => {
    const settle = (outcome: CollectOutcome) => {
      stopReading()
      stopDecoding?.()
      body.fail = undefined
      resolve(outcome)
    }
    const refuse = (refusal: Problem) => settle(refused(refusal))
    const keep = (chunk: Buffer) => {
      gathered.add(chunk)
      const refusal = refuseSize(gathered.length, body.bytesRead, edge.options.body) ?? place.take(chunk.length)
      if (refusal) refuse(refusal)
    }
    const whole = () => settle({ kind: 'collected', bytes: gathered.whole() })
    const onRaw = (chunk: Buffer) => {
      body.bytesRead += chunk.length
      if (body.bytesRead > bytesMax) refuse(tooLarge(bytesMax))
      else if (!decoder) keep(chunk)
      else if (!decoder.write(chunk)) request.pause()
    }

    const stopDecoding = decoder && listenToDecoder(decoder, { keep, whole, refuse, onDrain: () => request.resume() })
    const stopReading = listenToRequest(request, {
      onRaw,
      onEnd: () => (decoder ? decoder.end() : whole()),
      onGone: () => settle({ kind: 'gone' }),
    })
    body.fail = refuse
  })
}

interface DecoderListeners {
  keep(chunk: Buffer): void
  whole(): void
  refuse(refusal: Problem): void
  onDrain(): void
}

function listenToDecoder(decoder: Transform, { keep, whole, refuse, onDrain }: DecoderListeners): () => void {
  const onError = () =>
    refuse(problem('invalid_json', 'The body could not be decompressed. Check its Content-Encoding.'))
  decoder.on('data', keep).on('drain', onDrain).on('end', whole).on('error', onError)
  // The listener for errors stays: one that comes late is nobody's concern, but must not be thrown.
  return () => decoder.off('data', keep).off('drain', onDrain).off('end', whole).destroy()
}

interface RequestListeners {
  onRaw(chunk: Buffer): void
  onEnd(): void
  onGone(): void
}

function listenToRequest(request: IncomingMessage, { onRaw, onEnd, onGone }: RequestListeners): () => void {
  const onClose = () => {
    if (!request.complete) onGone()
  }
  request.on('data', onRaw).on('end', onEnd).on('close', onClose)
  return () => request.off('data', onRaw).off('end', onEnd).off('close', onClose).pause()
}

export const tooLarge = (bytesMax: number): Problem =>
  problem('request_too_large', `The body is larger than ${bytesMax} bytes. Send a smaller request.`)

function refuseSize(bytes: number, rawBytes: number, bounds: BodyBounds): Problem | undefined {
  if (bytes > bounds.bytesMax) return tooLarge(bounds.bytesMax)
  if (bytes <= UNSUSPICIOUS_BYTES || bytes <= rawBytes * bounds.expansionRatioMax) return undefined
  return problem(
    'request_too_large',
    `The body expands to more than ${bounds.expansionRatioMax} times its compressed size. Send it uncompressed.`,
  )
}
