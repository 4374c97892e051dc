/** Answers that are read to their end without a client, to learn what they have cost. */
export interface Drains {
  readonly running: number
  /**
   * Returns how to say that it is over; undefined when as many run as may. `onTooLong` is called when its time is up, if it
   * is not over by then.
   */
  begin(onTooLong: () => void): (() => void) | undefined
}

export interface DrainBounds {
  readonly msMax: number
  readonly atOnceMax: number
}

/**
 * Most answers have ended within a minute; a provider may go on for as long as `timeouts.total`, and working that long for
 * nobody would cost more than an estimate is wrong. Each drain keeps a connection and a hold: were there no limit, whoever
 * asks and hangs up again and again would have as many of them as he likes.
 */
const DRAIN_BOUNDS: DrainBounds = { msMax: 60_000, atOnceMax: 100 }

const LOOK_EVERY_MS = 500

/** `ticks` are monotonic microseconds. */
export function createDrains(deps: { readonly ticks: () => number }, bounds = DRAIN_BOUNDS): Drains {
  let running = 0
  return {
    get running() {
      return running
    },
    begin(onTooLong) {
      if (running >= bounds.atOnceMax) return undefined
      running++
      const until = deps.ticks() + bounds.msMax * 1000
      const timer = setInterval(() => {
        if (deps.ticks() < until) return
        over()
        onTooLong()
      }, LOOK_EVERY_MS)
      let isOver = false
      const over = () => {
        if (isOver) return
        isOver = true
        running--
        clearInterval(timer)
      }
      return over
    },
  }
}
