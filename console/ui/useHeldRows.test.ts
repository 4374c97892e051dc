import { describe, expect, it } from 'vitest'
import { holdBack } from './useHeldRows.ts'

const held = (rows: string, seen?: string) => {
  const { shown, waiting } = holdBack([...rows], (row) => row, seen === undefined ? undefined : new Set(seen))
  return `${shown.join('')} ${waiting}`
}

describe('rows that wait', () => {
  it('are those above the first that is seen', () => {
    expect(held('54321', '321')).toBe('321 2')
    expect(held('321', '321')).toBe('321 0')
  })

  it('go on waiting when the first that was seen goes out of the list', () => {
    expect(held('5421', '321')).toBe('21 2')
  })

  it('are none when nothing that was seen is left, or nobody reads', () => {
    expect(held('54', '321')).toBe('54 0')
    expect(held('', '321')).toBe(' 0')
    expect(held('54321')).toBe('54321 0')
  })
})
