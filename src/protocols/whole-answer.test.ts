import { expect, it } from 'vitest'
import { framesOfWhole } from './whole-answer.ts'

it('a whole answer that is nested without end is none, and throws nothing', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000)
  expect(framesOfWhole('chat', Buffer.from(`{"choices":[{"message":{"x":${deep}}}]}`))).toBeUndefined()
})

it.each(['chat', 'responses', 'anthropic', 'gemini'] as const)('what is no answer of %s has no frames', (wire) => {
  for (const json of ['null', '7', '[]', '{}', '{"choices":1,"output":2,"content":3}', '{"broken"'])
    expect(framesOfWhole(wire, Buffer.from(json))).toBeUndefined()
})
