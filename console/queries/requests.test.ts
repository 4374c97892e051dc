import { expect, it } from 'vitest'
import { ConsoleProblem } from '../lib/console-problem.ts'
import { mayStillSettle } from './requests.ts'

const answered = (status: number) => new ConsoleProblem(status, { code: 'any', message: 'any' })

it.each([0, 404, 500, 503])('the charge of a stopped turn is retried after a %i', (status) => {
  expect(mayStillSettle(0, answered(status))).toBe(true)
  expect(mayStillSettle(60, answered(status))).toBe(true)
  expect(mayStillSettle(90, answered(status)), 'not for ever').toBe(false)
})

it.each([401, 403, 429])('but not after a %i', (status) => {
  expect(mayStillSettle(0, answered(status))).toBe(false)
})
