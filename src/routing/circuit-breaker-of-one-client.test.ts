import { describe, expect, it } from 'vitest'
import { FAILED, setUp, type TestedBreaker, WELL } from '../../test/fixtures/routing/circuit-breaker.ts'
import type { Verdict } from './circuit-breaker.ts'

describe('one client whose calls fail', () => {
  const callBy = (breaker: TestedBreaker, by: string, verdict: Verdict): boolean => {
    const permit = breaker.permit(by)
    permit?.report(verdict)
    permit?.release()
    return permit !== undefined
  }
  const failing = (...clients: readonly string[]) => {
    const scene = setUp()
    for (const by of clients) callBy(scene.breaker, by, FAILED)
    return scene.breaker
  }

  it('does not open the circuit for others, and is admitted again when others succeed', () => {
    const breaker = failing('a', 'a', 'a', 'a', 'a')
    expect(callBy(breaker, 'a', WELL)).toBe(false)
    expect(callBy(breaker, 'b', WELL)).toBe(true)
    expect(callBy(breaker, 'a', WELL)).toBe(true)
  })

  it('opens the circuit when another client fails too', () => {
    const breaker = failing('a', 'a', 'a', 'a', 'a', 'b')
    expect(['a', 'b', 'c'].map((by) => callBy(breaker, by, WELL))).toEqual([false, false, false])
  })

  it('does not open the circuit for others by failing half-open probes', () => {
    for (const verdict of [FAILED, { kind: 'unresponsive' }] as const) {
      const { breaker, pass, openSeconds } = setUp()
      for (let round = 0; round < 5; round++) callBy(breaker, 'a', FAILED)
      pass(10)
      expect(callBy(breaker, 'a', verdict)).toBe(true)
      expect([breaker.openCircuit?.onlyForAccount, openSeconds()]).toEqual(['a', 20])
      expect(['a', 'b'].map((by) => callBy(breaker, by, WELL))).toEqual([false, true])
    }
  })

  it('opens the circuit for everyone on a rate limit', () => {
    const { breaker, changes, pass } = setUp()
    for (let round = 0; round < 5; round++) callBy(breaker, 'a', FAILED)
    pass(10)
    expect(callBy(breaker, 'a', { kind: 'busy', forMs: 3000 })).toBe(true)
    expect(['a', 'b'].map((by) => callBy(breaker, by, WELL))).toEqual([false, false])
    expect(changes).toEqual(['failing', 'busy'])
    pass(3)
    expect(callBy(breaker, 'b', FAILED)).toBe(true)
    expect(['a', 'b'].map((by) => callBy(breaker, by, WELL))).toEqual([true, true])
  })

  it('opens the circuit when an unknown client’s probe fails', () => {
    const { breaker, pass } = setUp()
    for (let round = 0; round < 5; round++) callBy(breaker, 'a', FAILED)
    pass(10)
    breaker.permit()?.report(FAILED)
    expect(breaker.openCircuit?.onlyForAccount).toBeUndefined()
    expect(callBy(breaker, 'b', WELL)).toBe(false)
  })

  it('does not open the circuit by its silent calls alone', () => {
    const SILENT: Verdict = { kind: 'unresponsive' }
    const { breaker } = setUp()
    for (let round = 0; round < 5; round++) callBy(breaker, 'a', SILENT)
    expect(breaker.openCircuit?.onlyForAccount).toBe('a')
    expect(['a', 'b', 'b'].map((by) => callBy(breaker, by, SILENT))).toEqual([false, true, false])
  })

  it('counts with other silent calls', () => {
    const { breaker } = setUp()
    for (const by of ['b', 'a', 'a', 'a', 'a']) callBy(breaker, by, { kind: 'unresponsive' })
    expect(['a', 'c'].map((by) => callBy(breaker, by, WELL))).toEqual([false, false])
  })

  it('counts with other failures', () => {
    const breaker = failing('b', 'a', 'a', 'a', 'a')
    expect(['a', 'c'].map((by) => callBy(breaker, by, WELL))).toEqual([false, false])
  })
})
