import type { RequestBody } from '../../model/turn.ts'

/** A body that `read-body` has bounded and parsed: the bytes with their members, and the value they stand for. */
export interface ParsedBody extends RequestBody {
  readonly value: unknown
}
