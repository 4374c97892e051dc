import { expect, it } from 'vitest'
import { fewReasons, fewSeries, sumUsed } from './usage-series.ts'

const used = (requests: number) => ({ ...sumUsed([]), requests, wallet: `${requests}.000000001` })
const series = (id: string | null, ...requests: number[]) => ({
  ...{ id, name: id ?? '', steps: requests.map(used), total: sumUsed(requests.map(used)) },
})

it('keeps as many series as there are colours', () => {
  const eight = Array.from({ length: 8 }, (_, index) => series(`m${index}`, index, 1))
  expect(fewSeries(eight)).toBe(eight)
  const few = fewSeries([...eight, series(null, 40, 2)])
  expect(few.map(({ id }) => id)).toEqual(['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6', null])
  expect(few.at(-1)?.steps.map(({ requests, wallet }) => [requests, wallet])).toEqual([
    [47, '47.000000002'],
    [3, '3.000000002'],
  ])
})

it('keeps all sums', () => {
  const many = Array.from({ length: 12 }, (_, index) => series(`m${index}`, index, index * 2))
  const sum = (all: readonly { readonly total: ReturnType<typeof used> }[]) => sumUsed(all.map(({ total }) => total))
  expect(sum(fewSeries(many))).toEqual(sum(many))
})

const reasons = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ code: `r${index}`, total: 10 - index, steps: [1, 9 - index] }))

it('keeps as many reasons as there are colours and merges the rest', () => {
  expect(fewReasons(reasons(6)).map(({ code }) => code)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', 'r5'])
  expect(fewReasons(reasons(8)).map(({ code }) => code)).toEqual(['r0', 'r1', 'r2', 'r3', 'r4', null])
  expect(fewReasons(reasons(8)).at(-1)).toEqual({ code: null, total: 5 + 4 + 3, steps: [3, 4 + 3 + 2] })
  expect(fewReasons([])).toEqual([])
})
