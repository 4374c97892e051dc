import { expect, it } from 'vitest'
import { shellWord } from './text.ts'

it('leaves a plain word as it is, and puts every other in quotes', () => {
  expect(shellWord('openai/fast-coder')).toBe('openai/fast-coder')
  for (const text of ['', 'two words', 'a;b', '$(id)', '~']) expect(shellWord(text)).toBe(`'${text}'`)
  expect(shellWord("it's")).toBe("'it'\\''s'")
})
