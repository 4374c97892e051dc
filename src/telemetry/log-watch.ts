import type { Clock } from '../lib/clock.ts'
import type { Log } from './log.ts'

/** The newest lines of the log, for operators who look on. Nothing is kept while none of them does. */
export type LogWatch = ReturnType<typeof createLogWatch>

/** Beyond these the oldest lines are dropped: a reader that is slow loses lines, and is told how many. */
const LINES_MAX = 5000
const BYTES_MAX = 4 * 1024 * 1024
/** Lines in one answer. */
const LINES_AT_ONCE = 500
/** Readers ask several times a second. */
const FORGOTTEN_AFTER_MS = 30_000

interface WatchedLine {
  readonly text: string
  readonly account: string | undefined
  readonly failed: boolean
}

export interface LogFilter {
  readonly account?: string | undefined
  /** Only refused and failed requests, warnings and errors. */
  readonly errors?: boolean | undefined
}

export function createLogWatch(log: Pick<Log, 'watch'>, clock: Pick<Clock, 'nowMicros'>) {
  let lines: WatchedLine[] = []
  let bytes = 0
  /** The number of the first line that is there. */
  let first = 0
  let timer: NodeJS.Timeout | undefined
  /** Tells a reader of an earlier watch that its place is not one of this watch. */
  let begun = 0

  const add = (line: WatchedLine): void => {
    lines.push(line)
    bytes += line.text.length
    if (lines.length <= LINES_MAX && bytes <= BYTES_MAX) return
    // Half of them at once: dropping one for each new one would move all of them each time.
    const dropped = lines.splice(0, Math.ceil(lines.length / 2))
    first += dropped.length
    bytes -= dropped.reduce((sum, { text }) => sum + text.length, 0)
  }
  const stop = (): void => {
    log.watch(undefined)
    clearTimeout(timer)
    timer = undefined
    lines = []
    bytes = 0
    first = 0
  }
  const keepOn = (): void => {
    if (timer === undefined) {
      begun = clock.nowMicros()
      log.watch(add)
    }
    clearTimeout(timer)
    timer = setTimeout(stop, FORGOTTEN_AFTER_MS).unref()
  }

  return {
    /** The lines after a place that an earlier answer gave; without one, those from now on. */
    read(after: string | undefined, { account, errors }: LogFilter) {
      keepOn()
      const [watch, place] = after?.split('.').map(Number) ?? []
      const isKnown = watch === begun && place !== undefined
      const from = isKnown ? Math.max(place, first) : first + lines.length
      const some = lines.slice(from - first, from - first + LINES_AT_ONCE)
      const shown = some.filter(
        (line) => (account === undefined || line.account === account) && (!errors || line.failed),
      )
      return {
        lines: shown.map(({ text }) => text),
        next: `${begun}.${from + some.length}`,
        /** Lines that were dropped before they were read, with any filter. */
        lost: isKnown ? from - place : 0,
        /** There are more to read now. */
        more: from + some.length < first + lines.length,
      }
    },
    close: stop,
  }
}
