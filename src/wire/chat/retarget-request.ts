import type { Effort } from '../../model/effort.ts'
import type { TurnRequest } from '../../model/turn.ts'
import { spliceMembers } from '../json/splice-members.ts'
import { CHAT_FIELDS } from './fields.ts'

/** What the lane is told in place of what the client wrote. */
export interface ChatTarget {
  readonly model: string
  readonly effort: Effort | undefined
  /** The cap that the hold covers: never more than what admission granted. */
  readonly outputCap: number
  /** Optional fields that this lane does not get. */
  readonly ignoredFields: readonly string[]
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

const TRUE = json(true)
const USAGE_WANTED = json({ include_usage: true })

/**
 * The client's own bytes with the control fields written anew: names it spelled are replaced or dropped, what it left
 * out is added, everything else is copied untouched. Usage is always asked for, whether the client wants it or not.
 */
export function retargetRequest(turn: TurnRequest, target: ChatTarget): Buffer {
  const changes = new Map(turn.rewritten)
  for (const name of target.ignoredFields) changes.set(name, null)
  for (const { name } of turn.body.members) {
    const policy = CHAT_FIELDS[name]?.policy
    if (policy === 'control' || policy === 'standard-only' || policy === 'refused') changes.set(name, null)
  }
  changes.set('model', json(target.model))
  if (turn.delivery === 'stream') {
    changes.set('stream', TRUE)
    changes.set('stream_options', USAGE_WANTED)
  }
  if (target.effort !== undefined) changes.set('reasoning_effort', json(target.effort))
  changes.set('max_completion_tokens', json(target.outputCap))
  if (turn.choices !== 1) changes.set('n', json(turn.choices))
  return spliceMembers(turn.body, changes)
}
