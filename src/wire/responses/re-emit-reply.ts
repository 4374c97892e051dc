import { type Fields, isObject } from '../../lib/is-object.ts'
import type { CarriedReply } from '../carrier.ts'
import { isError, readError } from '../provider-error.ts'
import type { Envelope } from './envelope.ts'
import { closingOf, type ReEmitLane } from './re-emit.ts'
import { createStepReader } from './read-steps.ts'
import type { SpokenItem } from './spoken-item.ts'
import { itemAtEnd, sayItem } from './write-item.ts'

export type ReEmittedReply =
  | (Extract<CarriedReply, { kind: 'reply' }> & {
      /** The items with what is sealed in them: for who stores the response. */
      storedItems(): readonly Fields[]
    })
  | Exclude<CarriedReply, { kind: 'reply' }>

/** A JSON answer of a lane that speaks Responses, for a client that does too: read and written as a stream's end is. */
export function reEmitReply(envelope: Envelope, value: unknown, lane: ReEmitLane): ReEmittedReply {
  if (!isObject(value)) return { kind: 'garbled' }
  if (isError(value.error)) return { kind: 'error', said: readError(value.error) }
  if (!Array.isArray(value.output) && value.status === undefined) return { kind: 'garbled' }
  const reader = createStepReader()
  const items: SpokenItem[] = []
  // A server that does not say how it ended has ended: a JSON answer is whole.
  const whole = typeof value.status === 'string' ? value : { ...value, status: 'completed' }
  for (const step of reader.readResponse(whole)) if (step.type === 'item-start') items.push(step.item)
  if (reader.heard.error) return { kind: 'error', said: reader.heard.error }
  const ending = reader.ending()
  if (ending === undefined) return { kind: 'garbled' }
  const said = items.map((item, index) => sayItem(item, index, lane.mint))
  const itemsAs = (sealed: 'shown' | 'hidden') => said.map((item) => itemAtEnd(item, { sealed }))
  return {
    kind: 'reply',
    usage: reader.heard.usage,
    outputBytes: reader.heard.outputBytes,
    storedItems: () => itemsAs('shown'),
    close(settled) {
      const [, state] = closingOf(ending, itemsAs(lane.sealed), settled, lane.nowSeconds())
      return Buffer.from(JSON.stringify(envelope.response(state)))
    },
  }
}
