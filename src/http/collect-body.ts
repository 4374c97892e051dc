import type { Transform } from 'node:stream'
import { type Problem, problem } from '../model/problem.ts'
import type { BodyBounds } from './edge-options.ts'
import type { Exchange } from './exchange.ts'

export type CollectOutcome =
  | { readonly kind: 'collected'; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly problem: Problem }
  /** The client closed the connection before its body was complete. */
  | { readonly kind: 'gone' }

/** Text that repeats itself compresses well in honest hands too; so little does no harm however it was made. */
const UNSUSPICIOUS_BYTES = 1024 * 1024

/** Reads a body to its end, decompressed if need be, and stops at the first bound that it breaks. */
export function collectBody(exchange: Exchange, decoder: Transform | undefined): Promise<CollectOutcome> {
  const { request, connection, edge } = exchange
  const bounds = edge.options.body
  const chunks: Buffer[] = []
  let bytes = 0

  return new Promise((resolve) => {
    const settle = (outcome: CollectOutcome) => {
      request.off('data', onRaw).off('end', onRawEnd).off('close', onClose).pause()
      connection.failBody = undefined
      exchange.log.body_bytes = bytes
      // The listener for errors stays: one that comes late is nobody's concern, but must not be thrown.
      decoder?.off('data', keep).off('drain', onDrain).off('end', whole).destroy()
      resolve(outcome)
    }
    const refuse = (refusal: Problem) => settle({ kind: 'refused', problem: refusal })

    const keep = (chunk: Buffer) => {
      bytes += chunk.length
      chunks.push(chunk)
      const refusal = refuseSize(bytes, exchange.bodyBytesRead, bounds)
      if (refusal) refuse(refusal)
    }
    const whole = () => settle({ kind: 'collected', bytes: chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks) })

    const onRaw = (chunk: Buffer) => {
      exchange.bodyBytesRead += chunk.length
      if (exchange.bodyBytesRead > bounds.bytesMax) refuse(tooLarge(bounds.bytesMax))
      else if (!decoder) keep(chunk)
      else if (!decoder.write(chunk)) request.pause()
    }
    const onRawEnd = () => (decoder ? decoder.end() : whole())
    const onClose = () => {
      if (!request.complete) settle({ kind: 'gone' })
    }

    const onDrain = () => {
      request.resume()
    }

    decoder
      ?.on('data', keep)
      .on('drain', onDrain)
      .on('end', whole)
      .on('error', () =>
        refuse(problem('invalid_json', 'The body could not be decompressed. Check its Content-Encoding.')),
      )
    connection.failBody = refuse
    request.on('data', onRaw).on('end', onRawEnd).on('close', onClose)
  })
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
