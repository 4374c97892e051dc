import { describe, expect, it } from 'vitest'
import { CHAT_DIALECTS, chatDialect } from './dialects.ts'

describe('the dialects of Chat', () => {
  it('are found by their unique names and aliases, and an unknown name gives the plain protocol', () => {
    const names = CHAT_DIALECTS.flatMap(({ name, aliases }) => [name, ...aliases])
    expect(new Set(names).size).toBe(names.length)
    for (const dialect of CHAT_DIALECTS) {
      for (const name of [dialect.name, ...dialect.aliases]) expect(chatDialect(name)).toBe(dialect)
    }
    for (const name of ['nobody', '', '__proto__', 'constructor']) expect(chatDialect(name).name).toBe('generic')
  })

  it('say each what they rest on', () => {
    expect(CHAT_DIALECTS.filter(({ source }) => source === '')).toEqual([])
  })
})
