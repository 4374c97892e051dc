import { describe, expect, it } from 'vitest'
import { GEMINI_DIALECTS, geminiDialect } from './dialects.ts'

describe('the dialects of generateContent', () => {
  it('are found by their unique names and aliases, and an unknown name gives the plain protocol', () => {
    const names = GEMINI_DIALECTS.flatMap(({ name, aliases }) => [name, ...aliases])
    expect(new Set(names).size).toBe(names.length)
    for (const dialect of GEMINI_DIALECTS) {
      for (const name of [dialect.name, ...dialect.aliases]) expect(geminiDialect(name)).toBe(dialect)
    }
    for (const name of ['nobody', '', '__proto__', 'constructor']) expect(geminiDialect(name).name).toBe('generic')
  })

  it('say each what they rest on', () => {
    expect(GEMINI_DIALECTS.filter(({ source }) => source === '')).toEqual([])
  })
})
