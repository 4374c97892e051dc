import { type Fields, isObject } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/settled-charge.ts'
import type { CarriedReply } from '../carrier.ts'
import { isError, readError } from '../provider-error.ts'
import { type ReEmitLane, stateAtEnd } from './re-emit.ts'
import { createStepReader } from './read-steps.ts'
import type { ResponseState } from './response-object.ts'
import { createSaidItems } from './said-items.ts'

export type ReEmittedReply =
  | (Omit<Extract<CarriedReply, { kind: 'reply' }>, 'close'> & {
      /** How the response stands at its end. */
      end(settled: SettledCharge): ResponseState
      /** The items with what is sealed in them: for who stores the response. */
      storedItems(): readonly Fields[]
    })
  | Exclude<CarriedReply, { kind: 'reply' }>

/** A JSON answer of a lane that speaks Responses, for a client that does too: read and written as a stream's end is. */
export function reEmitReply(value: unknown, lane: ReEmitLane): ReEmittedReply {
  if (!isObject(value)) return { kind: 'garbled' }
  if (isError(value.error)) return { kind: 'error', said: readError(value.error) }
  if (!Array.isArray(value.output) && value.status === undefined) return { kind: 'garbled' }
  const reader = createStepReader()
  const said = createSaidItems(lane)
  // A server that does not say how it ended has ended: a JSON answer is whole.
  const whole = typeof value.status === 'string' ? value : { ...value, status: 'completed' }
  for (const step of reader.readResponse(whole)) said.follow(step)
  if (reader.heard.error) return { kind: 'error', said: reader.heard.error }
  const ending = reader.ending()
  if (ending === undefined) return { kind: 'garbled' }
  said.end(ending.kind)
  return {
    kind: 'reply',
    usage: reader.heard.usage,
    outputBytes: reader.heard.outputBytes,
    storedItems: said.storedItems,
    end: (settled) => stateAtEnd(ending, said.items(), settled, lane.nowSeconds()),
  }
}
