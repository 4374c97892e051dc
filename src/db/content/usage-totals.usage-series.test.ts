import { expect, it } from 'vitest'
import { levelOf, seriesOf } from './usage-totals.ts'

it('has a level for each question, in which every request has one series', () => {
  const names = seriesOf({ key: 1, model: 'demo', kind: 'wallet' })
  const looks = [false, true].flatMap((key) =>
    [false, true].flatMap((model) => [false, true].map((kind) => levelOf({ key, model, kind }))),
  )
  expect(new Set(looks)).toEqual(new Set(names.map(({ level }) => level)))
})
