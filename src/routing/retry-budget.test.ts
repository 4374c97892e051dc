import { describe, expect, it } from 'vitest'
import type { Model } from '../catalog/catalog.ts'
import { createRetryBudget } from './retry-budget.ts'

const SECOND = 1_000_000
const MODEL = { id: 'm' } as Model

function setUp() {
  const time = { now: 0 }
  const budget = createRetryBudget({ nowMicros: () => time.now, terms: () => ({ percent: 20, perSecondMin: 3 }) })
  const takeAll = (model = MODEL) => {
    let taken = 0
    while (budget.take(model)) taken++
    return taken
  }
  return { time, budget, takeAll }
}

describe('retries', () => {
  it('are three a second where nothing succeeds, gathered over ten seconds', () => {
    const { time, takeAll } = setUp()
    expect(takeAll()).toBe(30)
    time.now += 5 * SECOND
    expect(takeAll()).toBe(0)
    time.now += 5 * SECOND
    expect(takeAll()).toBe(30)
  })

  it('are a fifth of what has succeeded in the last ten seconds', () => {
    const { time, budget, takeAll } = setUp()
    for (let count = 0; count < 1000; count++) budget.succeeded(MODEL)
    expect(takeAll()).toBe(200)
    time.now += 10 * SECOND
    expect(takeAll()).toBe(30)
  })

  it('of one model take nothing from another', () => {
    const { takeAll } = setUp()
    takeAll()
    expect(takeAll({ id: 'other' } as Model)).toBe(30)
  })

  it('survives a configuration reload', () => {
    const { takeAll } = setUp()
    takeAll()
    expect(takeAll({ ...MODEL })).toBe(0)
  })

  it('are as many as there are failures where the operator wants no bound', () => {
    const budget = createRetryBudget({ nowMicros: () => 0, terms: () => undefined })
    for (let count = 0; count < 1000; count++) expect(budget.take(MODEL)).toBe(true)
  })
})
