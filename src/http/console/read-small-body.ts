import { gatherBytes } from '../../lib/gather-bytes.ts'
import type { Problem } from '../../model/problem.ts'
import { askForBody } from '../body/ask-for-body.ts'
import type { Exchange } from '../exchange.ts'

/** Forms are small; the largest holds a few hundred ids of models. */
const BODY_BYTES_MAX = 128 * 1024

export type SmallBody =
  | { readonly kind: 'read'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** No body came of its bytes, or not in time: whoever sent them is still there to be told. */
  | { readonly kind: 'broken'; readonly problem: Problem }
  /** The client closed the connection first. */
  | { readonly kind: 'gone' }

/** A body of the console, whole or not at all. */
export function readSmallBody(exchange: Exchange): Promise<SmallBody> {
  const { request } = exchange
  const gathered = gatherBytes()
  askForBody(exchange)
  return new Promise((resolve) => {
    const settle = (outcome: SmallBody) => {
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause()
      exchange.body.fail = undefined
      resolve(outcome)
    }
    const onData = (chunk: Buffer) => {
      gathered.add(chunk)
      if (gathered.length > BODY_BYTES_MAX) settle({ kind: 'too-large' })
    }
    const onEnd = () => settle({ kind: 'read', bytes: gathered.whole() })
    const onClose = () => settle({ kind: 'gone' })
    request.on('data', onData).once('end', onEnd).once('close', onClose)
    exchange.body.fail = (problem) => settle({ kind: 'broken', problem })
    request.resume()
  })
}
