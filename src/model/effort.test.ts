import { describe, expect, it } from 'vitest'
import { effortOf, spellEffort } from './effort.ts'

const BUDGETS = { none: 'disabled', low: 4000, high: 24_000 } as const

describe('the spelling of an effort', () => {
  it.each([
    ['none', 'disabled'],
    ['low', 4000],
    ['high', 24_000],
  ])('%s goes as it is spelled', (effort, spelled) => {
    expect(spellEffort(BUDGETS, effortOf(effort))).toBe(spelled)
  })

  it.each([
    ['medium', 4000],
    ['max', 24_000],
    ['minimal', 'disabled'],
  ])('%s, which it does not know, goes as the nearest below', (effort, spelled) => {
    expect(spellEffort(BUDGETS, effortOf(effort))).toBe(spelled)
  })

  it('goes as the least where nothing is below', () => {
    expect(spellEffort({ medium: 'medium', high: 'high' }, effortOf('none'))).toBe('medium')
  })

  it('goes as it is where nothing is known of the model', () => {
    expect(spellEffort(undefined, effortOf('turbo'))).toBe('turbo')
  })

  it('is undefined for an unknown effort', () => {
    expect(spellEffort(BUDGETS, effortOf('turbo'))).toBeUndefined()
    expect(spellEffort(BUDGETS, effortOf('constructor'))).toBeUndefined()
  })
})
