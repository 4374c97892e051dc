import { CircuitBreaker, type Verdict } from './circuit-breaker.ts'

export const SECOND = 1_000_000
export const WELL: Verdict = { kind: 'well' }
export const FAILED: Verdict = { kind: 'failed' }
export const LOCKED_OUT: Verdict = { kind: 'locked-out' }

export function setUp(random: () => number = () => 0) {
  const time = { now: 0 }
  const changes: (string | undefined)[] = []
  const breaker = new CircuitBreaker({
    nowMicros: () => time.now,
    random,
    failing: () => ({ firstMs: 10_000, longestMs: 300_000 }),
    onChange: (circuit) => changes.push(circuit?.reason),
  })
  const call = (verdict: Verdict | undefined): boolean => {
    const permit = breaker.permit()
    if (permit === undefined) return false
    if (verdict) permit.report(verdict)
    permit.release()
    return true
  }
  const calls = (verdict: Verdict, times: number) => Array.from({ length: times }, () => call(verdict))
  const pass = (seconds: number) => {
    time.now += Math.round(seconds * SECOND)
  }
  /** Until when it is left alone from now on, in seconds. */
  const openSeconds = () => ((breaker.openCircuit?.until ?? time.now) - time.now) / SECOND
  return { time, changes, breaker, call, calls, pass, openSeconds }
}
