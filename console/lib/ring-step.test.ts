import { expect, it } from 'vitest'
import { ringStep } from './ring-step.ts'

const lines = (key: string, at: number, count = 3) => ringStep(key, { at, count, along: 'lines' })

it('arrows walk around a ring, and Home and End to its ends', () => {
  expect([lines('ArrowDown', 0), lines('ArrowDown', 2), lines('ArrowUp', 1), lines('ArrowUp', 0)]).toEqual([1, 0, 0, 2])
  expect([lines('Home', 2), lines('End', 0)]).toEqual([0, 2])
})

it('begins at its ends where nothing has the focus yet', () => {
  expect([lines('ArrowDown', -1), lines('ArrowUp', -1)]).toEqual([0, 2])
})

it('follows the direction of the language in a row', () => {
  const row = (key: string, direction: 'ltr' | 'rtl') => ringStep(key, { at: 1, count: 3, along: 'row', direction })
  expect([row('ArrowRight', 'ltr'), row('ArrowRight', 'rtl'), row('ArrowLeft', 'rtl')]).toEqual([2, 0, 2])
})

it('leaves every other key alone, and every key where there is nothing', () => {
  expect([lines('ArrowLeft', 1), lines('a', 1), lines('ArrowDown', -1, 0)]).toEqual([undefined, undefined, undefined])
})
