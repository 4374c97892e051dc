import { isDeepStrictEqual } from 'node:util'
import type { TurnEvent } from '../../../src/model/event.ts'
import type { EventReader } from '../../../src/protocols/shared/codec-types.ts'
import type { StreamState } from '../../../src/protocols/shared/stream-state.ts'
import { FrameSplitter } from '../../../src/protocols/sse/frames.ts'
import { createEventChecker } from './check-events.ts'

/** What a reader made of a stream. */
export interface Read {
  readonly events: readonly TurnEvent[]
  readonly state: StreamState
  readonly frames: number
  readonly seen: ReadonlySet<string>
}

const FRAME_BYTES_MAX = 4 * 1024 * 1024

/**
 * All frames of a stream, one after the other, each judged: also those that no turn would read any more, because the answer
 * is over or has failed.
 */
export function readWhole(reader: EventReader, bytes: Buffer): Read {
  const splitter = new FrameSplitter({ frameBytesMax: FRAME_BYTES_MAX })
  const checker = createEventChecker()
  const events: TurnEvent[] = []
  let frames = 0
  splitter.push(bytes)
  for (let frame = splitter.next(); frame !== undefined; frame = splitter.next()) {
    const given = reader.read(frame)
    frames += 1
    checker.check(given, reader, frame.length)
    for (const event of given) events.push(event)
  }
  return { events, state: structuredClone(reader.state), frames, seen: checker.seen }
}

/** The same in the pieces that the network made of it. */
export function readInPieces(reader: EventReader, pieces: Iterable<Buffer>): Read {
  const splitter = new FrameSplitter({ frameBytesMax: FRAME_BYTES_MAX })
  const events: TurnEvent[] = []
  let frames = 0
  for (const piece of pieces) {
    splitter.push(piece)
    for (let frame = splitter.next(); frame !== undefined; frame = splitter.next()) {
      for (const event of reader.read(frame)) events.push(event)
      frames += 1
    }
  }
  return { events, state: structuredClone(reader.state), frames, seen: new Set() }
}

/** Throws where two readings of one stream differ. */
export function compareReadings(whole: Read, pieces: Read): void {
  const { events, state, frames } = pieces
  if (!isDeepStrictEqual(events, whole.events)) {
    const at = events.findIndex((event, index) => !isDeepStrictEqual(event, whole.events[index]))
    const [one, other] = [whole.events[at], events[at]].map((event) => JSON.stringify(event))
    throw new Error(
      `Cut, its event ${at} of ${events.length} is ${other}; whole it is ${one} of ${whole.events.length}`,
    )
  }
  if (!isDeepStrictEqual(state, whole.state)) {
    throw new Error(`Cut, it state ${JSON.stringify(state)}; whole ${JSON.stringify(whole.state)}`)
  }
  if (frames !== whole.frames) throw new Error(`Cut, it has ${frames} frames; whole ${whole.frames}`)
}
