import { createBag } from '../../lib/bag.ts'
import type { CutReason, OnCut } from '../../turn/turn-stop.ts'

/** Which turns run, so that the end of the server can wait for them, and cut those that take too long. */
export interface TurnCounter {
  readonly running: number
  /** Those that were admitted and have ended. */
  readonly served: number
  enter(): () => void
  countServed(): void
  /** Resolves when none runs. */
  ended(): Promise<void>
  cut(why: CutReason): void
  readonly onCut: OnCut
}

export function createTurnCounter(): TurnCounter {
  let running = 0
  let served = 0
  let waiting: (() => void)[] = []
  const listeners = createBag<(why: CutReason) => void>()
  return {
    get running() {
      return running
    },
    get served() {
      return served
    },
    enter() {
      running += 1
      return () => {
        running -= 1
        if (running > 0) return
        for (const done of waiting) done()
        waiting = []
      }
    },
    countServed() {
      served += 1
    },
    ended: () => (running === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    cut(why) {
      listeners.each((listener) => listener(why))
    },
    onCut: (listener) => listeners.add(listener),
  }
}
