import { afterLoopTurn } from '../lib/async.ts'
import { estimateTokens } from '../pricing/estimate.ts'
import { skipComments } from '../protocols/json/bytes.ts'
import { type UpstreamError, readProviderError } from '../protocols/refusals/provider-error.ts'
import type { EncodedFrame, StreamAdapter } from '../protocols/shared/codec-types.ts'
import { type FrameSplitter, FrameTooLarge, createFrameSplitter } from '../protocols/sse/frames.ts'
import { type UpstreamBody, UpstreamTimedOut } from '../providers/upstream-answer.ts'
import { type LaneAttempt, type Produced, type RunFate, laneCap } from './attempt.ts'
import type { StopReason } from './cancellation.ts'
import type { RunningTurn } from './turn.ts'
import { CONNECTION_BROKE, type LaneFault, failed, faultInside, inStream, invalidAnswer, overloaded, refusedInside, timedOut } from './upstream-errors.ts'

interface RelayedStream {
  readonly turn: RunningTurn
  readonly on: LaneAttempt
  readonly body: UpstreamBody
  readonly adapter: StreamAdapter
  readonly frameBytesMax: number
}

/** No model writes longer tokens than this on average: output beyond it is past the cap of its lane. */
const BYTES_PER_TOKEN_MAX = 64

/** Before its first word a provider may tell the whole request back, twice; more frames than this are no answer. */
const HELD_FRAMES_MAX = 3

/**
 * What the carrier makes of the frames goes out: one read of the provider is one write to the client, and while the client's
 * socket is full the provider is not read. Frames before the first content are held back, and no content passes before the hold is
 * durable (R1). Only a read of the provider may fail here: any other throw is our own fault, and nobody's charge.
 */
export async function relayStream(stream: RelayedStream): Promise<RunFate> {
  const usage = createUsageWait(stream.body)
  try {
    return await carryFrames(stream, usage)
  } finally {
    usage.end()
  }
}

async function carryFrames(stream: RelayedStream, usage: UsageWait): Promise<RunFate> {
  const { adapter, on, turn } = stream
  const { sink, hold } = turn
  const { bytesPerToken } = turn.entry.model
  const splitter = createFrameSplitter({ frameBytesMax: stream.frameBytesMax })
  let ready: Buffer[] = []
  let heldBytes = 0
  for (;;) {
    const read = await readOn(stream.body)
    if (read instanceof Error) return stopReading(stream, fateOfFailure(stream, read, ready))
    if (read.length === 0) break
    const bytesBefore = adapter.state.outputBytes
    const state = hear(stream, splitter, read)
    if (adapter.state.outputBytes > bytesBefore) on.wordsCame()
    ready.push(...state.pieces)
    if (state.content && !on.hasContent) {
      const problem = await turn.releaseGate.opened()
      if (problem) return stopReading(stream, { kind: 'withheld', problem })
      on.contentBegins()
    }
    if (on.hasContent && ready.length > 0) {
      const full = sink.write(joinBuffers(ready))
      ready = []
      // Nothing is delivered to who has gone.
      if (!sink.disconnected)
        hold.mark(estimateTokens(adapter.state.outputBytes - adapter.state.heldBytes, bytesPerToken))
      if (full) {
        await full
        on.readsOn()
      }
    }
    if (state.failure) return stopReading(stream, fateOfFailure(stream, state.failure, ready))
    if (!on.hasContent) heldBytes += sizeOf(state.pieces)
    if (heldBytes > HELD_FRAMES_MAX * stream.frameBytesMax)
      return stopReading(
        stream,
        failed(overloaded('Server error: the provider sent too much before its first content.')),
      )
    if (isWhole(stream)) turn.cancellation.answerIsWhole()
    if (isOver(adapter)) break
    if (adapter.state.finished) usage.begin()
    if (isPastTheCap(stream))
      return stopReading(stream, ended(stream, overloaded('Server error: the provider went on past the output cap.')))
  }
  // What follows the last frame is no part of the answer.
  if (!adapter.state.done) adapter.state.error ??= errorInstead(splitter.rest())
  return stopReading(stream, fateOfEnd(stream, ready))
}

/** What the provider says next; a failure of the connection is a value here, because it is expected. */
async function readOn(body: UpstreamBody): Promise<readonly Buffer[] | Error> {
  try {
    return await body.read()
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

interface Heard {
  /** What goes to the client, in as few pieces as it came. */
  readonly pieces: Buffer[]
  readonly content: boolean
  readonly failure: FrameTooLarge | undefined
}

/** What follows an end or an error is not part of the answer, although it came with the same read. */
function hear({ adapter }: RelayedStream, splitter: FrameSplitter, read: readonly Buffer[]): Heard {
  const pieces: Buffer[] = []
  let content = false
  splitter.push(joinBuffers(read))
  try {
    while (!isOver(adapter)) {
      const carried = adapter.readTemplated?.(splitter) ?? readNext(adapter, splitter)
      if (!carried) break
      if (carried.bytes) pieces.push(carried.bytes)
      content ||= carried.isContent
    }
  } catch (error) {
    if (error instanceof FrameTooLarge) return { pieces, content, failure: error }
    throw error
  }
  return { pieces, content, failure: undefined }
}

function readNext(adapter: StreamAdapter, splitter: FrameSplitter): EncodedFrame | undefined {
  const frame = splitter.next()
  return frame && adapter.read(frame)
}

const isOver = ({ state }: StreamAdapter): boolean =>
  state.done || state.invalid !== undefined || state.error !== undefined

/** Some servers refuse with plain JSON although a stream was asked for. */
function errorInstead(rest: Buffer): UpstreamError | undefined {
  const body = skipComments(rest)
  if (body[0] !== OPENING_BRACE) return undefined
  const said = readProviderError(undefined, body)
  return said.message === '' && said.code === undefined ? undefined : said
}

const OPENING_BRACE = 0x7b

const sizeOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

const isPastTheCap = ({ adapter, turn, on }: RelayedStream): boolean =>
  adapter.state.outputBytes > laneCap(turn, on.lane) * turn.request.choices * BYTES_PER_TOKEN_MAX

/** An answer that is known to be whole lets its connection serve again; any other is cut, so that the provider stops. */
function stopReading(stream: RelayedStream, fate: RunFate): RunFate {
  if (fate.kind === 'finished') stream.body.release()
  else stream.body.cancel()
  return fate
}

const producedOf = ({ adapter: { state }, on }: RelayedStream): Produced => ({
  usage: state.usageIsFinal ? state.usage : undefined,
  usageSoFar: state.usageIsFinal ? undefined : state.usage,
  countedBytes: state.countedBytes,
  inputCounted: state.inputCounted,
  outputBytes: state.outputBytes,
  wordFrames: state.contentFrames,
  calls: state.calls,
  silentMs: on.silentMs(state.finished),
  hiding: on.hiding,
})

/** The stream has ended; only a finish reason makes that a whole answer. */
function fateOfEnd(stream: RelayedStream, ready: readonly Buffer[]): RunFate {
  const { state } = stream.adapter
  if (isWhole(stream)) return finished(stream, ready)
  if (state.error) {
    if (stream.on.hasContent) return brokenOff(stream, faultInside(state.error, stream.turn.request))
    // What was produced and not handed on is billed all the same, as a summary that is none.
    return { ...refusedInside(state.error, stream.turn.request), mayBeBilled: state.outputBytes > 0 }
  }
  const { invalid } = state
  if (invalid !== undefined) return ended(stream, overloaded(invalidAnswer(invalid)))
  return ended(stream, overloaded('Server error: the provider ended its answer before it was complete.'))
}

const isWhole = ({ adapter: { state } }: RelayedStream): boolean =>
  state.finished && state.error === undefined && state.invalid === undefined

const finished = (stream: RelayedStream, ready: readonly Buffer[]): RunFate => ({
  kind: 'finished',
  answer: {
    unsent: joinBuffers(ready),
    close: stream.adapter.close,
    compacted: stream.adapter.compactedSize?.(),
  },
  used: producedOf(stream),
  unheard: stream.turn.cancellation.disconnectedEarly,
})

function fateOfFailure(stream: RelayedStream, error: Error, ready: readonly Buffer[]): RunFate {
  const { stoppedFor } = stream.turn.cancellation
  if (stoppedFor) return stoppedStream(stream, stoppedFor)
  // The client has its finish reason: what is missing is at most a usage, and that is no reason to call it a failure.
  if (isWhole(stream)) return finished(stream, ready)
  if (error instanceof UpstreamTimedOut) return ended(stream, timedOut(error.phase))
  const what =
    error instanceof FrameTooLarge ? 'Server error: the provider sent a frame that is too large.' : CONNECTION_BROKE
  return ended(stream, overloaded(what))
}

const ended = (stream: RelayedStream, fault: LaneFault): RunFate =>
  stream.on.hasContent ? brokenOff(stream, fault) : failed(fault)

/** For who has gone it makes no difference by whom the answer was ended. */
const brokenOff = (stream: RelayedStream, fault: LaneFault): RunFate =>
  stream.turn.cancellation.disconnectedEarly
    ? stoppedStream(stream, 'client-gone')
    : { kind: 'broken-off', problem: inStream(fault), used: producedOf(stream) }

const stoppedStream = (stream: RelayedStream, reason: StopReason): RunFate => ({
  kind: 'stopped',
  reason,
  accepted: true,
  used: producedOf(stream),
})

/**
 * After the finish reason only the counts are missing. They come at once, or from a server that has forgotten them: then
 * its connection is ended, and the client is not kept waiting for its own end any longer.
 */
interface UsageWait {
  begin(): void
  end(): void
}

/** Longer than any provider takes to add up what it has just written. */
const USAGE_WAIT_MS = 10_000

export function createUsageWait(body: Pick<UpstreamBody, 'cancel'>): UsageWait {
  let timer: NodeJS.Timeout | undefined
  let stop = () => clearTimeout(timer)
  return {
    begin() {
      timer ??= setTimeout(() => {
        // After the process was stopped the counts may have come, and wait to be read.
        stop = afterLoopTurn(() => body.cancel())
      }, USAGE_WAIT_MS)
    },
    end: () => stop(),
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
