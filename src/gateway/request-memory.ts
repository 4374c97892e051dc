import { isAscii } from 'node:buffer'
import type { TurnRequest } from '../model/turn.ts'
import { memberBytes } from '../protocols/json/bytes.ts'
import type { Turn, TurnServices } from './turn.ts'

/** What the heap holds for each of them, in bytes, rounded up. */
const MEMBER_BYTES = 128
const OTHER_INPUT_BYTES = 192
const LISTED_NAME_BYTES = 64
/** A tool name, as the client has it and as its lane has it. */
const TOOL_NAME_BYTES = 512
/** What a response writes of a tool besides what its client sent. */
const TOOL_ECHO_BYTES = 64

/**
 * How much memory a request takes until its first content: the body stays for a failover, and what is written for a lane is as
 * long once more.
 */
export function bytesUntilContent(request: TurnRequest): number {
  const { body, rewritten, otherInputs, ignoredTools, optionalFields, toolNames } = request
  let bytes = body.bytes.length
  for (const replacement of rewritten.values()) bytes += replacement?.length ?? 0
  return (
    2 * bytes +
    body.members.length * MEMBER_BYTES +
    otherInputs.length * OTHER_INPUT_BYTES +
    (ignoredTools.length + optionalFields.length) * LISTED_NAME_BYTES +
    toolNames * TOOL_NAME_BYTES +
    (request.protocol === 'chat' ? 0 : echoBytes(request) + sealedBytes(request))
  )
}

/** A response object repeats everything but the input, as text. */
function echoBytes(request: TurnRequest): number {
  const { bytes } = request.body
  const repeated = bytes.length - (memberBytes(request.body, 'input')?.length ?? 0)
  return repeated * (isAscii(bytes) ? 1 : 2) + request.inputSize.tools * TOOL_ECHO_BYTES
}

function sealedBytes(request: TurnRequest): number {
  let bytes = 0
  if (request.protocol === 'responses')
    for (const [envelope, { data }] of request.sealed) bytes += envelope.length + data.length
  return bytes
}

/** Below, what a turn keeps is less than its sockets take. */
export const RELEASED_BYTES_MIN = 64 * 1024
const NOTHING = Buffer.alloc(0)

/**
 * Called for requests of `RELEASED_BYTES_MIN` or more. After the first content there is no failover, so most turns do not need the body of their request any more. What was written
 * for the lane stays, because the HTTP client holds a body until its answer has ended.
 */
export function releaseBody({ seen }: TurnServices, turn: Turn): void {
  const { request, encoder, prompt, price } = turn
  const bytes = bytesUntilContent(request)
  // A stored response needs its input at the end, and so does a compaction.
  if (request.compacts !== undefined || (request.protocol === 'responses' && request.storedInput !== undefined)) {
    turn.onContent?.(bytes)
    return
  }
  const kept = bytes - request.body.bytes.length - sealedBytes(request)
  if (prompt) seen.digest(prompt, { isWanted: price.cachedInput < price.input })
  if (encoder.protocol === 'responses') encoder.forgetBody()
  request.body.bytes = NOTHING
  request.body.members = []
  request.rewritten.clear()
  if (request.protocol === 'responses') request.sealed.clear()
  turn.onContent?.(kept)
}
