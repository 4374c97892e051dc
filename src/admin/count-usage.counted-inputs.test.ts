import { expect, it } from 'vitest'
import { type CountedBeyond, createCountedInputs } from './count-usage.ts'

it('remembers the largest input beyond the context, and reports each new maximum once', () => {
  const reported: CountedBeyond[] = []
  const counted = createCountedInputs((found) => reported.push(found))
  const model = { id: 'm', contextTokens: 1000 }
  counted.note(model, 1000)
  expect([counted.largest(model), reported]).toEqual([undefined, []])
  for (const count of [1001, 900, 1001, 5000, 1500]) counted.note(model, count)
  expect(counted.largest(model)).toBe(5000)
  expect(reported).toEqual([1001, 5000].map((each) => ({ model: 'm', counted: each, context_tokens: 1000 })))
})

it('reports nothing once the configured context is large enough', () => {
  const counted = createCountedInputs(() => {})
  counted.note({ id: 'm', contextTokens: 1000 }, 5000)
  expect(counted.largest({ id: 'm', contextTokens: 4999 })).toBe(5000)
  expect(counted.largest({ id: 'm', contextTokens: 5000 })).toBeUndefined()
  expect(counted.largest({ id: 'other', contextTokens: 1 })).toBeUndefined()
})
