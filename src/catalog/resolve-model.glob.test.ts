import { describe, expect, test } from 'vitest'
import { matchesGlob } from './resolve-model.ts'

describe('a glob', () => {
  test.each([
    ['demo', 'demo', true],
    ['demo', 'demo-tools', false],
    ['demo*', 'demo', true],
    ['demo*', 'demo-tools', true],
    ['*', '', true],
    ['*', 'vendor/model:tag', true],
    ['vendor/*', 'vendor/a/b', true],
    ['*-coder', 'fast-coder', true],
    ['*-coder', 'fast-coder-2', false],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['a*a', 'a', false],
    ['ab*ba', 'aba', false],
    ['**', 'x', true],
    ['.*', 'x', false],
    ['Demo*', 'demo', false],
  ])('%s against %s: %s', (pattern, name, expected) => {
    expect(matchesGlob(pattern, name)).toBe(expected)
  })

  test('agrees with a regular expression on random patterns', () => {
    let seed = 20261120
    const random = (below: number) => {
      seed = (seed * 1103515245 + 12345) & 0x7fffffff
      return seed % below
    }
    const letters = (count: number, alphabet: string) =>
      Array.from({ length: count }, () => alphabet[random(alphabet.length)]).join('')
    let matched = 0
    for (let round = 0; round < 20_000; round++) {
      const pattern = letters(random(7), 'ab*')
      const name = letters(random(9), 'ab')
      const expected = new RegExp(`^${pattern.replace(/\*+/g, '.*')}$`).test(name)
      if (expected) matched++
      expect(matchesGlob(pattern, name), `${pattern} against ${name}`).toBe(expected)
    }
    process.stderr.write(`glob: seed 20261120, 20000 pairs, ${matched} of them matching\n`)
    expect(matched).toBeGreaterThan(1000)
  })

  test('of many stars is refused without trying again and again', () => {
    expect(matchesGlob(`${'a*'.repeat(5000)}b`, 'a'.repeat(20_000))).toBe(false)
  })
})
