import { expect, it } from 'vitest'
import { usage as german } from '../../console/messages/de/usage.ts'
import { usage } from '../../console/messages/en/usage.ts'
import { PROBLEMS } from '../../src/model/problem.ts'

it.each([
  ['English', usage],
  ['German', german],
])('the console has a message in %s for every problem code', (_, { endings }) => {
  expect(Object.keys(endings.reasons).toSorted()).toEqual(Object.keys(PROBLEMS).toSorted())
  for (const [code, text] of Object.entries(endings.reasons)) expect(text, code).toMatch(/^[^_.]+$/)
})
