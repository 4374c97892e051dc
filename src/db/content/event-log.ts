import { setTimeout as sleep } from 'node:timers/promises'
import { createTurnstile } from '../../lib/async.ts'
import { DONE_FRAME } from '../../protocols/sse/frames.ts'
import type { SqlStore } from '../sql-store.ts'
import { findLastEvent, findLogSize, findSegmentAfter, type ResponseRow } from './response-rows.ts'
import type { ResponseWrite, SealedSegment } from './response-store.ts'
import { type AccountKey, openInSlices, openPart, sealInSlices, sealPart, segmentName } from './sealing.ts'

/** A longer log is not kept; its response is, and says that its events are not there. */
export const EVENT_LOG_BYTES_MAX = 16 * 1024 * 1024
/** Sealed as one piece. A reader of one frame opens at most this much. */
const SEGMENT_BYTES = 128 * 1024
/** Scanned without a pause. */
const PAUSE_BYTES = 512 * 1024

const FRAME_END = '\n\n'
/** The start of our own frames: an event line, the type, the number. */
const NUMBERED = /^(?:event: [^\n]*\n)?data: \{"type":"[^"]*","sequence_number":(\d{1,15})[,}]/
const HEAD_BYTES = 256

const passTurnstile = createTurnstile()

/** Whole frames of a stream, with the numbers of the first and the last one. */
interface EventSegment {
  readonly from: number
  readonly to: number
  readonly bytes: Buffer
}

/**
 * Splits a stream into segments, without frames that have no number (comments, `[DONE]`). Undefined when no frame is
 * numbered, or when numbers have a gap.
 */
export async function segmentsOf(stream: Buffer): Promise<EventSegment[] | undefined> {
  const segments: EventSegment[] = []
  let open: { from: number; to: number; frames: Buffer[]; size: number } | undefined
  let pauseAt = PAUSE_BYTES
  for (const frame of framesOf(stream)) {
    const sequence = sequenceOf(frame)
    if (sequence === undefined) continue
    const last = open?.to ?? segments.at(-1)?.to
    if (last !== undefined && sequence !== last + 1) return undefined
    open ??= { from: sequence, to: sequence, frames: [], size: 0 }
    open.to = sequence
    open.frames.push(frame)
    open.size += frame.length
    if (open.size >= SEGMENT_BYTES) {
      segments.push(closed(open))
      open = undefined
    }
    if (frame.byteOffset - stream.byteOffset >= pauseAt) {
      pauseAt += PAUSE_BYTES
      await passTurnstile()
    }
  }
  if (open !== undefined) segments.push(closed(open))
  return segments.length === 0 ? undefined : segments
}

/** Whether the log of a stream and `[DONE]` are all that was sent, without other bytes between its frames. */
export async function isLogAsSent(stream: Buffer): Promise<boolean> {
  if (stream.length > EVENT_LOG_BYTES_MAX || !stream.subarray(-DONE_FRAME.length).equals(DONE_FRAME)) return false
  const segments = await segmentsOf(stream)
  if (segments?.[0]?.from !== 0) return false
  return segments.reduce((sum, { bytes }) => sum + bytes.length, DONE_FRAME.length) === stream.length
}

export async function sealLog(
  key: AccountKey,
  id: string,
  events: Buffer | undefined,
): Promise<Pick<ResponseWrite, 'log' | 'segments'>> {
  if (events === undefined) return { log: 'none', segments: [] }
  if (events.length > EVENT_LOG_BYTES_MAX) return { log: 'too-large', segments: [] }
  const segments = await segmentsOf(events)
  // A log without its beginning would be read as if it were whole.
  if (segments?.[0]?.from !== 0) return { log: 'none', segments: [] }
  return { log: 'kept', segments: await sealSegments(key, id, segments) }
}

/** Whole frames of a running response. Empty where they cannot be numbered. */
export const sealEvents = async (key: AccountKey, id: string, events: Buffer): Promise<readonly SealedSegment[]> =>
  sealSegments(key, id, (await segmentsOf(events)) ?? [])

const sealSegments = (key: AccountKey, id: string, segments: readonly EventSegment[]): Promise<SealedSegment[]> =>
  sealInSlices(segments, async ({ from, to, bytes }) => ({
    ...(await sealPart(key, segmentName(id, from, to), bytes)),
    ...{ from, to },
  }))

/** `name` is the digest of the response id. */
type LoggedResponse = { readonly key: AccountKey; readonly name: string; readonly response: number }

/** A segment is damaged, or was deleted before the last one was read. */
class BrokenLog extends Error {
  override readonly name = 'BrokenLog'
}

/** Reads a segment at a time, at the reader's pace. Throws where the log is broken. */
export async function* framesFrom(
  file: SqlStore,
  { key, name, response }: LoggedResponse,
  { startingAfter, last }: { readonly startingAfter: number; readonly last: number },
): AsyncGenerator<Buffer> {
  for (let after = startingAfter; after < last; ) {
    const row = await findSegmentAfter(file, response, after)
    if (row === undefined || row.from_sequence > after + 1) {
      throw new BrokenLog('Events of a response were deleted while they were read')
    }
    const { from_sequence: from, to_sequence: to } = row
    const [bytes] = await openInSlices([row], (part) => openPart(key, segmentName(name, from, to), part))
    if (bytes === undefined) throw new BrokenLog('The events of a response cannot be read')
    yield from > after ? bytes : framesAfter(bytes, after)
    after = to
  }
}

/** How often the reader of a running response looks for more of it. */
export const LOOK_AGAIN_MS = { least: 250, most: 1000 }
/** Longer than a model is silent. Where the end of a response could not be stored, its status is wrong until the server starts again. */
const SILENT_MS_MAX = 15 * 60_000
const NOTHING = Buffer.alloc(0)

/**
 * The same of a response that may still run, as it goes on. While it waits it yields nothing, so that its reader can leave. Where the log has
 * no end of its own, because the node of the response died or the response was cancelled, `end` makes it.
 */
export async function* framesAsTheyCome(
  file: SqlStore,
  logged: LoggedResponse,
  live: {
    readonly startingAfter: number
    /** Undefined when it was deleted. */
    read(): Promise<Pick<ResponseRow, 'status' | 'log'> | undefined>
    end(number: number): AsyncIterable<Buffer>
  },
): AsyncGenerator<Buffer> {
  let waitMs = LOOK_AGAIN_MS.least
  let silentMs = 0
  for (let after = live.startingAfter; ; ) {
    // Before its events: what is written in between is found the next time.
    const row = await live.read()
    if (row === undefined) throw new BrokenLog('A response was deleted while its events were read')
    const last = (await findLastEvent(file, logged.response)) ?? after
    yield* framesFrom(file, logged, { startingAfter: after, last })
    silentMs = last > after ? 0 : silentMs + waitMs
    if (silentMs > SILENT_MS_MAX) throw new BrokenLog('A running response has had no events for a long time')
    waitMs = last > after ? LOOK_AGAIN_MS.least : Math.min(2 * waitMs, LOOK_AGAIN_MS.most)
    after = Math.max(after, last)
    if (row.status !== 'in_progress') {
      if (row.log !== 'kept') yield* live.end(after + 1)
      return
    }
    yield NOTHING
    await sleep(waitMs)
  }
}

export interface SentStream {
  readonly rawBytes: number
  /** Undefined when it can no longer be read. */
  read(): Promise<Buffer | undefined>
}

/** The stream of a log that is as it was sent; undefined when there is none. */
export async function sentStream(file: SqlStore, logged: LoggedResponse): Promise<SentStream | undefined> {
  const size = await findLogSize(file, logged.response)
  if (size === undefined) return undefined
  return {
    rawBytes: size.bytes + DONE_FRAME.length,
    async read() {
      const pieces: Buffer[] = []
      try {
        for await (const piece of framesFrom(file, logged, { startingAfter: -1, last: size.last })) pieces.push(piece)
      } catch (error) {
        if (error instanceof BrokenLog) return undefined
        throw error
      }
      return Buffer.concat([...pieces, DONE_FRAME])
    },
  }
}

/** The frames after that number. */
function framesAfter(segment: Buffer, sequence: number): Buffer {
  let start = 0
  for (const frame of framesOf(segment)) {
    const number = sequenceOf(frame)
    if (number !== undefined && number > sequence) return segment.subarray(start)
    start += frame.length
  }
  return segment.subarray(segment.length)
}

const closed = ({ from, to, frames }: { from: number; to: number; frames: Buffer[] }): EventSegment => ({
  ...{ from, to },
  bytes: Buffer.concat(frames),
})

/** Without an incomplete frame at the end. */
function* framesOf(stream: Buffer): Generator<Buffer> {
  let start = 0
  for (;;) {
    const end = stream.indexOf(FRAME_END, start)
    if (end === -1) return
    yield stream.subarray(start, end + FRAME_END.length)
    start = end + FRAME_END.length
  }
}

function sequenceOf(frame: Buffer): number | undefined {
  const digits = NUMBERED.exec(frame.toString('latin1', 0, HEAD_BYTES))?.[1]
  return digits === undefined ? undefined : Number(digits)
}
