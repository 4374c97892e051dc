import type { RequestBody } from '../model/turn.ts'

/** A body that was bounded and parsed at the door: the bytes with their members, and the object that they stand for. */
export interface ParsedBody extends RequestBody {
  readonly value: Readonly<Record<string, unknown>>
}
