import type { ServerEvent } from '../../../lib/read-server-events.ts'

/** An event with its time since the request. */
export interface RawEvent extends ServerEvent {
  readonly number: number
  readonly atMs: number
}

export interface RecentEvents {
  add(event: ServerEvent, atMs: number): void
  /** The kept events, and the number of all events. */
  shown(): { readonly events: readonly RawEvent[]; readonly count: number }
}

const EVENTS_MAX = 500
const CHARS_MAX = 1_000_000

/** Keeps the last events within bounds, because a long answer has tens of thousands. */
export function createRecentEvents(): RecentEvents {
  let events: RawEvent[] = []
  let [count, chars] = [0, 0]
  return {
    add: (event, atMs) => {
      count += 1
      const data = event.data.slice(0, CHARS_MAX)
      events.push({ ...event, data, number: count, atMs })
      chars += data.length
      let first = 0
      while (events.length - first > EVENTS_MAX || chars > CHARS_MAX) {
        chars -= events[first]?.data.length ?? 0
        first += 1
      }
      if (first > 0) events = events.slice(first)
    },
    shown: () => ({ events: [...events], count }),
  }
}
