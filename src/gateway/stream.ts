import { afterSocketsRead } from '../lib/async.ts'
import { isObject } from '../lib/types.ts'
import type { LaneWire } from '../model/wire.ts'
import { skipComments, tryParse } from '../protocols/json/bytes.ts'
import { readProviderError } from '../protocols/refusals/provider-error.ts'
import type { StreamAdapter } from '../protocols/shared/codec-types.ts'
import { type StreamState, servedValues } from '../protocols/shared/stream-state.ts'
import { FrameSplitter, FrameTooLarge, readData } from '../protocols/sse/frames.ts'
import { framesOfWhole } from '../protocols/whole-answer.ts'
import { type UpstreamBody, UpstreamTimedOut } from '../providers/upstream-answer.ts'
import type { LaneVerdict } from '../routing/circuit-breaker.ts'
import type { AttemptResult, LaneAttempt, Produced } from './attempt.ts'
import type { AbortReason } from './cancellation.ts'
import { RELEASED_BYTES_MIN, releaseBody } from './read-turn.ts'
import type { Turn, TurnServices } from './turn.ts'
import {
  CONNECTION_BROKE,
  failedByAnswer,
  failedLane,
  faultInAnswer,
  invalidAnswer,
  type LaneFault,
  overloadedFault,
  problemInStream,
  refusedInAnswer,
  timeoutFault,
} from './upstream-errors.ts'

interface StreamedAnswer {
  readonly body: UpstreamBody
  readonly adapter: StreamAdapter
  readonly wire: LaneWire
}

interface RelayedStream {
  readonly turn: Turn
  readonly attempt: LaneAttempt
  readonly adapter: StreamAdapter
  readonly nowMicros: () => number
  /** Monotonic microseconds at which the lane was called, or its last output arrived. */
  progressAt: number
  hasOutput: boolean
  /** For how long the provider has produced nothing. */
  silentMicros: number
}

/** The network does not explain a longer pause: the provider may have been reasoning. */
const PAUSE_MICROS = 1_500_000

/** No model writes longer tokens on average: output beyond it is past the cap of its lane. */
const BYTES_PER_TOKEN_MAX = 64

/** Before its first content a provider may repeat the whole request, twice. Past the bytes of so many frames of the largest size it fails. */
const UNSENT_FRAMES_MAX = 3

/**
 * Relays a stream frame by frame. One read of the provider is one write to the client; backpressure: while the client's socket
 * is full, the provider is not read. Frames before the first content are held back, and no content leaves before the release gate
 * is open (`openReleaseGate` in `serve-turn.ts`), that is before the hold and the row of a stored response are durable (R1 in
 * docs/architecture.md). Head and keep-alive may leave earlier, without content (`onBeat` in `server/sinks.ts`). Only a read of the
 * provider may fail here; any other throw is our own fault.
 */
export async function relayStream(
  services: TurnServices,
  turn: Turn,
  attempt: LaneAttempt,
  { body, adapter, wire }: StreamedAnswer,
): Promise<AttemptResult> {
  const { nowMicros, bounds } = services
  const output = { progressAt: attempt.calledAt, hasOutput: false, silentMicros: 0 }
  const stream: RelayedStream = { turn, attempt, adapter, nowMicros, ...output }
  const { state } = adapter
  const { sink, cancellation } = turn
  const outputBytesMax = attempt.outputCap * turn.request.choices * BYTES_PER_TOKEN_MAX
  const splitter = new FrameSplitter({ frameBytesMax: bounds.frameBytesMax })
  let endUsageWait: (() => void) | undefined
  let ready: Buffer[] = []
  let unsentBytes = 0
  let isLast = false
  try {
    while (!isLast) {
      let read: readonly Buffer[]
      try {
        read = await body.read()
      } catch (error) {
        return resultOfFailure(stream, error instanceof Error ? error : new Error(String(error)), ready)
      }
      if (read.length === 0) {
        isLast = true
        read = framesAtEnd(state, splitter.takeRest(), wire)
        if (read.length === 0) break
      }
      const bytesBefore = state.outputBytes
      const { pieces, hasContent, isOver, failure } = readFrames(adapter, splitter, read)
      if (state.outputBytes > bytesBefore) {
        noteOutput(stream, nowMicros())
        // The finish reason was not the last one.
        endUsageWait?.()
        endUsageWait = undefined
      }
      ready.push(...pieces)
      const isUnsent = attempt.firstContentAt === undefined
      if (isUnsent) for (const { length } of pieces) unsentBytes += length
      const isTooLong = unsentBytes > UNSENT_FRAMES_MAX * bounds.frameBytesMax
      // A call is held back as long as another lane may answer instead, unless it becomes longer than that is worth.
      if (isUnsent && (hasContent || (isTooLong && state.calls > 0))) {
        const problem = await untilReleased(turn)
        if (problem) return { kind: 'withheld', problem }
        onFirstContent(services, turn, attempt)
      }
      if (attempt.firstContentAt !== undefined && ready.length > 0) {
        turn.streamedTokens = Math.ceil((state.outputBytes - state.heldBytes) / turn.entry.model.bytesPerToken)
        // After a disconnect nothing is delivered, unless others read it. No mark: the ledger has been away for too long.
        if (sink.isRead && !turn.hold.mark(turn.streamedTokens)) {
          cancellation.abort('ledger-gone')
          return stoppedStream(stream, 'ledger-gone')
        }
        const drained = sink.write(joinBuffers(ready))
        ready = []
        if (drained) {
          await cancellation.untilStopped(drained)
          // The provider was not read for a while.
          stream.progressAt = nowMicros()
        }
      }
      if (failure) return resultOfFailure(stream, failure, ready)
      if (isTooLong && attempt.firstContentAt === undefined)
        return failedLane(overloadedFault('Server error: the provider sent too much before its first content.'))
      if (isComplete(stream)) cancellation.answerIsComplete = true
      if (isOver) break
      if (state.finished) endUsageWait ??= startUsageWait(body)
      if (state.outputBytes > outputBytesMax)
        return ended(stream, overloadedFault('Server error: the provider went on past the output cap.'))
    }
    // A complete answer that begins with a call: nothing of it was sent.
    const isHeldBack = attempt.firstContentAt === undefined && state.calls > 0 && isComplete(stream)
    const problem = isHeldBack ? await untilReleased(turn) : undefined
    return problem ? { kind: 'withheld', problem } : resultOfEnd(stream, ready)
  } finally {
    endUsageWait?.()
  }
}

/** The hold is durable, and a stored response has its row. */
function untilReleased({ releaseGate, hold }: Turn) {
  if (!releaseGate.isOpen) hold.hurry()
  return releaseGate.opened
}

const SUCCEEDED: LaneVerdict = { kind: 'succeeded' }

/** From here on there is no failover. */
function onFirstContent(services: TurnServices, turn: Turn, attempt: LaneAttempt): void {
  attempt.firstContentAt = services.nowMicros()
  attempt.permit.report(SUCCEEDED)
  const { conversationKeys, previousOrigin, request } = turn
  // The next turn of the conversation may begin before this one ends.
  if (conversationKeys) services.sticky.remember(conversationKeys, { origin: attempt.lane.origin, previousOrigin })
  if (request.body.bytes.length >= RELEASED_BYTES_MIN) releaseBody(services, turn)
}

interface ReadFrames {
  /** What goes to the client, in as few pieces as it came. */
  readonly pieces: Buffer[]
  readonly hasContent: boolean
  readonly isOver: boolean
  readonly failure: FrameTooLarge | undefined
}

/** Stops at an end or an error: what follows in the same read is no part of the answer. */
function readFrames(adapter: StreamAdapter, splitter: FrameSplitter, read: readonly Buffer[]): ReadFrames {
  const { state } = adapter
  const pieces: Buffer[] = []
  let text = ''
  let hasContent = false
  let isOver = false
  let failure: FrameTooLarge | undefined
  splitter.push(joinBuffers(read))
  try {
    while (!isOver) {
      let encoded = adapter.readRepeated?.(splitter)
      if (encoded === undefined) {
        const frame = splitter.next()
        if (frame === undefined) break
        encoded = adapter.read(frame)
      }
      const { bytes } = encoded
      if (typeof bytes === 'string') text += bytes
      else if (bytes !== undefined) {
        if (text !== '') pieces.push(Buffer.from(text))
        text = ''
        pieces.push(bytes)
      }
      hasContent ||= encoded.isContent
      isOver = state.done || state.invalid !== undefined || state.error !== undefined
    }
  } catch (error) {
    if (!(error instanceof FrameTooLarge)) throw error
    failure = error
  }
  if (text !== '') pieces.push(Buffer.from(text))
  return { pieces, hasContent, isOver, failure }
}

const isComplete = ({ adapter: { state } }: RelayedStream): boolean =>
  state.finished && state.error === undefined && state.invalid === undefined

/**
 * What is left of a stream at its end, as whole frames. A last frame without its blank line counts where its JSON is whole. A server that
 * ignores `stream` has sent its whole answer, or an error, as JSON.
 */
function framesAtEnd(state: StreamState, rest: Buffer, wire: LaneWire): Buffer[] {
  const body = skipComments(rest)
  if (!JSON_OPENINGS.has(body[0])) {
    const data = readData(rest)?.toString('utf8')
    const isWhole = data !== undefined && (data === DONE || isObject(tryParse(data)))
    return isWhole ? [rest, BLANK_LINES] : []
  }
  const frames = framesOfWhole(wire, body)
  if (frames !== undefined) return [frames]
  const error = readProviderError(undefined, body)
  if (error.message !== '' || error.code !== undefined) state.error ??= error
  return []
}

const JSON_OPENINGS: ReadonlySet<number | undefined> = new Set(Buffer.from('[{'))
const DONE = '[DONE]'
const BLANK_LINES = Buffer.from('\n\n')

function noteOutput(stream: RelayedStream, now: number): void {
  stream.silentMicros += silenceUntil(stream, now)
  stream.hasOutput = true
  stream.progressAt = now
  const { cancellation } = stream.turn
  if (cancellation.answerIsComplete) cancellation.answerGoesOn()
}

/** How long the provider was silent since its last output. */
function silenceUntil({ progressAt, hasOutput }: RelayedStream, now: number): number {
  const micros = now - progressAt
  return !hasOutput || micros > PAUSE_MICROS ? micros : 0
}

function producedOf(stream: RelayedStream): Produced {
  const { state } = stream.adapter
  const { attempt, turn } = stream
  // After the finish reason the provider does not work any more.
  const silentMicros = stream.silentMicros + (state.finished ? 0 : silenceUntil(stream, stream.nowMicros()))
  return {
    usage: state.usageIsFinal ? state.usage : undefined,
    usageSoFar: state.usageIsFinal ? undefined : state.usage,
    served:
      turn.price.multipliers || attempt.lane.cost?.multipliers ? servedValues(state, attempt.tierInHead) : undefined,
    countedBytes: state.countedBytes,
    inputCounted: state.inputCounted,
    outputBytes: state.outputBytes,
    contentFrames: state.contentFrames,
    calls: state.calls,
    silentMs: Math.round(silentMicros / 1000),
    hiddenReasoning: attempt.hiddenReasoning,
    finishReasons: attempt.trace && state.finishReason !== undefined ? [state.finishReason] : undefined,
  }
}

/** Only a finish reason makes a stream that has ended a complete answer. */
function resultOfEnd(stream: RelayedStream, ready: readonly Buffer[]): AttemptResult {
  const { adapter, attempt, turn } = stream
  const { state } = adapter
  if (isComplete(stream)) {
    return {
      kind: 'finished',
      answer: { unsent: joinBuffers(ready), close: adapter.close, compacted: adapter.compactedSize?.() },
      used: producedOf(stream),
      disconnectedEarly: turn.cancellation.disconnectedEarly,
    }
  }
  if (state.error) {
    if (attempt.firstContentAt !== undefined) return brokenOff(stream, faultInAnswer(state.error, turn.request))
    // The provider bills output that was not relayed too, such as a summary that turned out to be none.
    return { ...refusedInAnswer(state.error, turn.request), mayBeBilled: state.outputBytes > 0 }
  }
  if (state.invalid !== undefined)
    return attempt.firstContentAt === undefined
      ? failedByAnswer(state.invalid)
      : brokenOff(stream, invalidAnswer(state.invalid))
  return ended(stream, overloadedFault('Server error: the provider ended its answer before it was complete.'))
}

function resultOfFailure(stream: RelayedStream, error: Error, ready: readonly Buffer[]): AttemptResult {
  const { stoppedFor } = stream.turn.cancellation
  if (stoppedFor) return stoppedStream(stream, stoppedFor)
  // The client has its finish reason: at most the usage is missing, which is no failure.
  if (isComplete(stream)) return resultOfEnd(stream, ready)
  if (error instanceof UpstreamTimedOut) return ended(stream, timeoutFault(error.phase))
  const isTooLarge = error instanceof FrameTooLarge
  return ended(
    stream,
    overloadedFault(isTooLarge ? 'Server error: the provider sent a frame that is too large.' : CONNECTION_BROKE),
  )
}

const ended = (stream: RelayedStream, fault: LaneFault): AttemptResult =>
  stream.attempt.firstContentAt === undefined ? failedLane(fault) : brokenOff(stream, fault)

/** After a disconnect, the reason the upstream ended no longer matters. */
const brokenOff = (stream: RelayedStream, fault: LaneFault): AttemptResult =>
  stream.turn.cancellation.disconnectedEarly
    ? stoppedStream(stream, 'client-gone')
    : { kind: 'broken-off', problem: problemInStream(fault), used: producedOf(stream) }

const stoppedStream = (stream: RelayedStream, reason: AbortReason): AttemptResult => ({
  kind: 'stopped',
  reason,
  accepted: true,
  used: producedOf(stream),
})

/** Longer than any provider takes to add up the usage of an answer. */
const USAGE_WAIT_MS = 10_000

/**
 * After the finish reason only the usage is missing. If it does not come in time, the connection is closed, so that the client
 * does not wait for its own end any longer. Returns how to stop waiting.
 */
export function startUsageWait(body: Pick<UpstreamBody, 'cancel'>): () => void {
  let cancelClose: (() => void) | undefined
  const timer = setTimeout(() => {
    // If the process was suspended, the usage may have arrived and waits to be read.
    cancelClose = afterSocketsRead(() => body.cancel())
  }, USAGE_WAIT_MS)
  return () => {
    clearTimeout(timer)
    cancelClose?.()
  }
}

/** Several buffers as one: without a copy where they lie side by side in memory, as the pieces of one read do. */
export function joinBuffers(pieces: readonly Buffer[]): Buffer {
  const [first] = pieces
  if (first === undefined || pieces.length === 1) return first ?? Buffer.alloc(0)
  let end = first.byteOffset
  for (const piece of pieces) {
    if (piece.buffer !== first.buffer || piece.byteOffset !== end) return Buffer.concat(pieces)
    end += piece.length
  }
  return Buffer.from(first.buffer, first.byteOffset, end - first.byteOffset)
}
