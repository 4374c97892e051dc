/** Those who wait for something to become free, in the order in which they came. */
export interface WaitingLine {
  readonly length: number
  /**
   * `passed` where nobody waits and there is room, `full` where as many wait as may; else a wait, whose `tryPass` is asked
   * when the line advances. It takes what it needs in the same step.
   */
  join(tryPass: () => boolean, bounds: LineBounds): 'passed' | 'full' | Wait
  /** Something has become free: from the front on, as many pass as can. Who cannot keeps all behind it waiting. */
  advance(): void
}

export interface LineBounds {
  readonly lengthMax: number
  readonly msMax: number
}

export interface Wait {
  readonly outcome: Promise<'passed' | 'too-long' | 'left'>
  leave(): void
}

export function createWaitingLine(): WaitingLine {
  const waiting: { tryPass(): boolean; end(how: 'passed' | 'too-long' | 'left'): void }[] = []
  const advance = () => {
    while (waiting[0]?.tryPass()) waiting[0].end('passed')
  }
  return {
    get length() {
      return waiting.length
    },
    join(tryPass, { lengthMax, msMax }) {
      if (waiting.length === 0 && tryPass()) return 'passed'
      if (waiting.length >= lengthMax) return 'full'
      let leave = () => {}
      const outcome = new Promise<'passed' | 'too-long' | 'left'>((resolve) => {
        const waiter = {
          tryPass,
          end(how: 'passed' | 'too-long' | 'left') {
            const place = waiting.indexOf(waiter)
            if (place < 0) return
            clearTimeout(timer)
            waiting.splice(place, 1)
            resolve(how)
            // Whoever stood behind one that was too large for what is left may fit.
            if (place === 0 && how !== 'passed') advance()
          },
        }
        const timer = setTimeout(() => waiter.end('too-long'), msMax).unref()
        leave = () => waiter.end('left')
        waiting.push(waiter)
      })
      return { outcome, leave }
    },
    advance,
  }
}
