import { expect, it } from 'vitest'
import { parseStepDown, readStepDownText, stepDownText, writeStepDown } from './step-down.ts'

it('is written in one way, as stored and as text', () => {
  for (const text of ['fast-coder', 'vendor/fast:free 10%', 'm 100%']) {
    const rule = readStepDownText(text)
    expect(stepDownText(rule)).toBe(text)
    expect(parseStepDown(writeStepDown(rule))).toEqual(rule)
  }
  expect(readStepDownText(' fast-coder  7% ')).toEqual({ to: 'fast-coder', below_percent: 7 })
  expect(readStepDownText('fast-coder many%')).toEqual({ to: 'fast-coder many%', below_percent: 0 })
  expect([writeStepDown(null), parseStepDown(null)]).toEqual([null, null])
})
