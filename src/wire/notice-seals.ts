import type { Opaque, TurnEvent } from '../model/event.ts'
import type { EventReader } from './event-reader.ts'

/** Sealed reasoning that has led to a call. */
export interface SealBeforeCall {
  readonly opaque: Opaque
  /** The model has said something between the two. */
  readonly wordsBetween: boolean
}

/** Sealed reasoning by the calls that it has led to, for a client that has no place for it. */
export interface CallSeals {
  keep(callId: string, seals: readonly SealBeforeCall[]): void
  /** Empty: nothing is known of that call. */
  find(callId: string): readonly SealBeforeCall[]
  /** Nothing is known of any call. */
  isEmpty(): boolean
}

/** Nothing is known of any call. */
export const NO_CALL_SEALS: CallSeals = { keep: () => {}, find: () => [], isEmpty: () => true }

/**
 * Notices what is sealed in front of tool calls, and has it kept under the ids that the client knows them by. Of calls that
 * were made at once the first has the seals: what stood in front of all of them stands in front of it.
 */
export function noticeSeals(reader: EventReader, keep: CallSeals['keep']): EventReader {
  let waiting: SealBeforeCall[] = []
  const notice = (event: TurnEvent): void => {
    if (event.type === 'reasoning-seal') {
      waiting.push({ opaque: event.opaque, wordsBetween: false })
    } else if (event.type === 'text-delta' || event.type === 'refusal-delta') {
      // Those before the last words have them already.
      if (waiting.at(-1)?.wordsBetween === false) waiting = waiting.map(withWordsBetween)
    } else if (event.type === 'tool-call-start') {
      if (waiting.length > 0) keep(event.callId, waiting)
      waiting = []
    }
  }
  return {
    heard: reader.heard,
    read(frame) {
      const events = reader.read(frame)
      for (const event of events) notice(event)
      return events
    },
    // More of the same words change nothing.
    readAlike: (frames) => reader.readAlike(frames),
  }
}

const withWordsBetween = ({ opaque }: SealBeforeCall): SealBeforeCall => ({ opaque, wordsBetween: true })
