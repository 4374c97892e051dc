import type { Fields } from '../../lib/is-object.ts'
import { argumentsObject } from '../arguments-object.ts'
import type { CallItem } from '../pair-results.ts'
import type { ToolNames } from '../tool-names.ts'

/** How a call and its result are told of each other. */
export interface CallWords {
  readonly names: ToolNames
  /** As the server takes it; undefined where their order pairs them. */
  readonly id: string | undefined
}

export const writeCall = (call: CallItem, signature: string | undefined, words: CallWords): Fields => ({
  functionCall: { ...nameOf(call, words), args: argumentsObject(call) },
  ...(signature === undefined ? {} : { thoughtSignature: signature }),
})

/** A result is an object here; that it was a text shall be seen. */
export const writeResponse = (call: CallItem, result: string, words: CallWords): Fields => ({
  functionResponse: { ...nameOf(call, words), response: { result } },
})

const nameOf = (call: CallItem, { names, id }: CallWords): Fields => ({
  ...(id === undefined ? {} : { id }),
  name: names.upstreamName(call),
})
