import { joinBuffers } from '../../lib/join-buffers.ts'
import { estimateTokens } from '../../metering/size-input.ts'
import { type UpstreamBody, UpstreamTimedOut } from '../../upstream/upstream-answer.ts'
import { skipComments } from '../../wire/json/skip-comments.ts'
import { readProviderError, type UpstreamSaid } from '../../wire/refusals/provider-error.ts'
import { createFrameSplitter, type FrameSplitter, FrameTooLarge } from '../../wire/sse/split-frames.ts'
import type { CarriedFrame, Carrier } from '../../wire/voice.ts'
import type { RunningTurn } from '../running-turn.ts'
import type { StopReason } from '../turn-stop.ts'
import { laneCap } from './lane-cap.ts'
import type { LaneTry } from './lane-try.ts'
import {
  CONNECTION_BROKE,
  failed,
  faultInside,
  inStream,
  invalidAnswer,
  type LaneFault,
  overloaded,
  refusedInside,
  timedOut,
} from './provider-refusal.ts'
import type { Produced, RunFate } from './run.ts'
import { createUsageWait, type UsageWait } from './usage-wait.ts'

export interface CarriedStream {
  readonly turn: RunningTurn
  readonly on: LaneTry
  readonly body: UpstreamBody
  readonly carrier: Carrier
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
export async function carryStream(stream: CarriedStream): Promise<RunFate> {
  const usage = createUsageWait(stream.body)
  try {
    return await carryFrames(stream, usage)
  } finally {
    usage.end()
  }
}

async function carryFrames(stream: CarriedStream, usage: UsageWait): Promise<RunFate> {
  const { carrier, on, turn } = stream
  const { sink, hold } = turn
  const { bytesPerToken } = turn.entry.model
  const splitter = createFrameSplitter({ frameBytesMax: stream.frameBytesMax })
  let ready: Buffer[] = []
  let heldBytes = 0
  for (;;) {
    const read = await readOn(stream.body)
    if (read instanceof Error) return stopReading(stream, fateOfFailure(stream, read, ready))
    if (read.length === 0) break
    const bytesBefore = carrier.heard.outputBytes
    const heard = hear(stream, splitter, read)
    if (carrier.heard.outputBytes > bytesBefore) on.wordsCame()
    ready.push(...heard.pieces)
    if (heard.content && !on.hasContent) {
      const problem = await turn.firstWord.cleared()
      if (problem) return stopReading(stream, { kind: 'withheld', problem })
      on.contentBegins()
    }
    if (on.hasContent && ready.length > 0) {
      const full = sink.write(joinBuffers(ready))
      ready = []
      // Nothing is delivered to who has gone.
      if (!sink.gone) hold.mark(estimateTokens(carrier.heard.outputBytes - carrier.heard.heldBytes, bytesPerToken))
      if (full) {
        await full
        on.readsOn()
      }
    }
    if (heard.failure) return stopReading(stream, fateOfFailure(stream, heard.failure, ready))
    if (!on.hasContent) heldBytes += sizeOf(heard.pieces)
    if (heldBytes > HELD_FRAMES_MAX * stream.frameBytesMax)
      return stopReading(
        stream,
        failed(overloaded('Server error: the provider sent too much before its first content.')),
      )
    if (isWhole(stream)) turn.stop.answerIsWhole()
    if (isOver(carrier)) break
    if (carrier.heard.finished) usage.begin()
    if (isPastTheCap(stream))
      return stopReading(stream, ended(stream, overloaded('Server error: the provider went on past the output cap.')))
  }
  // What follows the last frame is no part of the answer.
  if (!carrier.heard.done) carrier.heard.error ??= errorInstead(splitter.rest())
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
function hear({ carrier }: CarriedStream, splitter: FrameSplitter, read: readonly Buffer[]): Heard {
  const pieces: Buffer[] = []
  let content = false
  splitter.push(joinBuffers(read))
  try {
    while (!isOver(carrier)) {
      const carried = carrier.readAlike(splitter) ?? readNext(carrier, splitter)
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

function readNext(carrier: Carrier, splitter: FrameSplitter): CarriedFrame | undefined {
  const frame = splitter.next()
  return frame && carrier.read(frame)
}

const isOver = ({ heard }: Carrier): boolean => heard.done || heard.invalid !== undefined || heard.error !== undefined

/** Some servers refuse with plain JSON although a stream was asked for. */
function errorInstead(rest: Buffer): UpstreamSaid | undefined {
  const body = skipComments(rest)
  if (body[0] !== OPENING_BRACE) return undefined
  const said = readProviderError(undefined, body)
  return said.message === '' && said.code === undefined ? undefined : said
}

const OPENING_BRACE = 0x7b

const sizeOf = (pieces: readonly Buffer[]): number => pieces.reduce((sum, { length }) => sum + length, 0)

const isPastTheCap = ({ carrier, turn, on }: CarriedStream): boolean =>
  carrier.heard.outputBytes > laneCap(turn, on.lane) * turn.request.choices * BYTES_PER_TOKEN_MAX

/** An answer that is known to be whole lets its connection serve again; any other is cut, so that the provider stops. */
function stopReading(stream: CarriedStream, fate: RunFate): RunFate {
  if (fate.kind === 'finished') stream.body.release()
  else stream.body.cancel()
  return fate
}

const producedOf = ({ carrier: { heard }, on }: CarriedStream): Produced => ({
  usage: heard.usageIsFinal ? heard.usage : undefined,
  usageSoFar: heard.usageIsFinal ? undefined : heard.usage,
  countedBytes: heard.countedBytes,
  inputCounted: heard.inputCounted,
  outputBytes: heard.outputBytes,
  wordFrames: heard.wordFrames,
  calls: heard.calls,
  silentMs: on.silentMs(heard.finished),
  hiding: on.hiding,
})

/** The stream has ended; only a finish reason makes that a whole answer. */
function fateOfEnd(stream: CarriedStream, ready: readonly Buffer[]): RunFate {
  const { heard } = stream.carrier
  if (isWhole(stream)) return finished(stream, ready)
  if (heard.error) {
    if (stream.on.hasContent) return brokenOff(stream, faultInside(heard.error, stream.turn.request))
    // What was produced and not handed on is billed all the same, as a summary that is none.
    return { ...refusedInside(heard.error, stream.turn.request), mayBeBilled: heard.outputBytes > 0 }
  }
  const { invalid } = heard
  if (invalid !== undefined) return ended(stream, overloaded(invalidAnswer(invalid)))
  return ended(stream, overloaded('Server error: the provider ended its answer before it was complete.'))
}

const isWhole = ({ carrier: { heard } }: CarriedStream): boolean =>
  heard.finished && heard.error === undefined && heard.invalid === undefined

const finished = (stream: CarriedStream, ready: readonly Buffer[]): RunFate => ({
  kind: 'finished',
  answer: {
    unsent: joinBuffers(ready),
    close: stream.carrier.close,
    compacted: stream.carrier.compactedSize?.(),
  },
  used: producedOf(stream),
  unheard: stream.turn.stop.leftEarly,
})

function fateOfFailure(stream: CarriedStream, error: Error, ready: readonly Buffer[]): RunFate {
  const { stoppedFor } = stream.turn.stop
  if (stoppedFor) return stoppedStream(stream, stoppedFor)
  // The client has its finish reason: what is missing is at most a usage, and that is no reason to call it a failure.
  if (isWhole(stream)) return finished(stream, ready)
  if (error instanceof UpstreamTimedOut) return ended(stream, timedOut(error.phase))
  const what =
    error instanceof FrameTooLarge ? 'Server error: the provider sent a frame that is too large.' : CONNECTION_BROKE
  return ended(stream, overloaded(what))
}

const ended = (stream: CarriedStream, fault: LaneFault): RunFate =>
  stream.on.hasContent ? brokenOff(stream, fault) : failed(fault)

/** For who has gone it makes no difference by whom the answer was ended. */
const brokenOff = (stream: CarriedStream, fault: LaneFault): RunFate =>
  stream.turn.stop.leftEarly
    ? stoppedStream(stream, 'client-gone')
    : { kind: 'broken-off', problem: inStream(fault), used: producedOf(stream) }

const stoppedStream = (stream: CarriedStream, reason: StopReason): RunFate => ({
  kind: 'stopped',
  reason,
  accepted: true,
  used: producedOf(stream),
})
