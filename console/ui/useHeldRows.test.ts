import { describe, expect, it } from 'vitest'
import { holdBack } from './useHeldRows.ts'

const held = (rows: string, seen?: string) => {
  const { shown, waiting } = holdBack([...rows], (row) => row, seen === undefined ? undefined : new Set(seen))
  return `${shown.join('')} ${waiting}`
}

describe('held rows', () => {
  it('are the rows above the first known one', () => {
    expect(held('54321', '321')).toBe('321 2')
    expect(held('321', '321')).toBe('321 0')
  })

  it('stay held when the first known row leaves the list', () => {
    expect(held('5421', '321')).toBe('21 2')
  })

  it('are none when no known row is left or the user is not reading', () => {
    expect(held('54', '321')).toBe('54 0')
    expect(held('', '321')).toBe(' 0')
    expect(held('54321')).toBe('54321 0')
  })
})
