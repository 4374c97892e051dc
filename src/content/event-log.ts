import { createTurnstile } from '../lib/take-turns.ts'

/** A longer log is not kept: its response is, and says that its events are not there. */
export const EVENT_LOG_BYTES_MAX = 16 * 1024 * 1024
/** Sealed as one piece, and so the most that is opened for somebody who wants only the last frame of it. */
const SEGMENT_BYTES = 128 * 1024
/** Looked at without a pause. */
const PAUSE_BYTES = 512 * 1024

const FRAME_END = '\n\n'
/** What our own frames begin with, up to their number: an event line, the type, the number. */
const NUMBERED = /^(?:event: [^\n]*\n)?data: \{"type":"[^"]*","sequence_number":(\d{1,15})[,}]/
const HEAD_BYTES = 256

const passTurnstile = createTurnstile()

/** A stretch of a stream: whole frames, and the numbers of the first and the last of them. */
export interface EventSegment {
  readonly from: number
  readonly to: number
  readonly bytes: Buffer
}

/**
 * A stream as segments. Frames without a number (comments, `[DONE]`) belong to one delivery and not to the log. Undefined
 * when it is no log: nothing is numbered, or a number is not the one after the one before.
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

/** The frames behind that number. */
export function framesAfter(segment: Buffer, sequence: number): Buffer {
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

/** What does not end is no frame: the stream was cut inside it. */
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
