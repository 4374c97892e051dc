import { isAscii } from 'node:buffer'
import { memberBytes, type TurnRequest } from '../model/turn.ts'
import type { SeenPrefixes } from '../pricing/seen-prefixes.ts'
import type { RunningTurn } from './turn.ts'

/** What the heap holds for each of them, in bytes, rounded up. */
const MEMBER_BYTES = 128
const OTHER_INPUT_BYTES = 192
const LISTED_NAME_BYTES = 64
/** A name of a tool, as the client has it and as its lane has it. */
const TOOL_NAME_BYTES = 512
/** What a response writes of a tool beside what its client has sent. */
const TOOL_ECHO_BYTES = 64

/**
 * How much memory a request takes until its first content, its body included: the body stays for another lane, and what is
 * written for a lane is as long once more.
 */
export function bytesUntilContent(request: TurnRequest): number {
  const { body, rewritten, otherInputs, ignoredTools, optionalFields, toolNames } = request
  const written = [...rewritten.values()].reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0)
  return (
    2 * (body.bytes.length + written) +
    body.members.length * MEMBER_BYTES +
    otherInputs.length * OTHER_INPUT_BYTES +
    (ignoredTools.length + optionalFields.length) * LISTED_NAME_BYTES +
    toolNames * TOOL_NAME_BYTES +
    echoBytes(request) +
    sealedBytes(request)
  )
}

/**
 * How much of that stays while its answer streams: an input that is stored at the end, and what every frame may repeat. What
 * was written for the lane stays too, because the HTTP client holds a body until its answer has ended.
 */
function bytesFromContentOn(request: TurnRequest): number {
  if (isNeededAtTheEnd(request)) return bytesUntilContent(request)
  return bytesUntilContent(request) - request.body.bytes.length - sealedBytes(request)
}

/** A stored response has its input, and a conversation made short has parts of it. */
const isNeededAtTheEnd = (request: TurnRequest): boolean =>
  request.compacts !== undefined || (request.protocol === 'responses' && request.storedInput !== undefined)

/** A response object repeats all but the input, as text. */
function echoBytes(request: TurnRequest): number {
  if (request.protocol === 'chat') return 0
  const { bytes } = request.body
  const repeated = bytes.length - (memberBytes(request.body, 'input')?.length ?? 0)
  return repeated * (isAscii(bytes) ? 1 : 2) + request.inputSize.tools * TOOL_ECHO_BYTES
}

function sealedBytes(request: TurnRequest): number {
  if (request.protocol === 'chat') return 0
  let bytes = 0
  for (const [envelope, { data }] of request.sealed) bytes += envelope.length + data.length
  return bytes
}

/** Below, what a turn keeps is less than its sockets take. */
const RELEASED_BYTES_MIN = 64 * 1024
const NOTHING = Buffer.alloc(0)

/** From the first content on no other lane is asked, so that most turns need the body of their request no more. */
export function releaseBody({ seen }: { readonly seen: SeenPrefixes }, turn: RunningTurn): void {
  const { request, encoder, prompt, price } = turn
  if (request.body.bytes.length < RELEASED_BYTES_MIN) return
  const stays = bytesFromContentOn(request)
  if (!isNeededAtTheEnd(request)) {
    if (prompt) seen.digest(prompt, { isWanted: price.cachedInput < price.input })
    if (encoder.protocol === 'responses') encoder.forgetBody()
    request.body.bytes = NOTHING
    request.body.members = []
    request.rewritten.clear()
    if (request.protocol === 'responses') request.sealed.clear()
  }
  turn.onContent?.(stays)
}
