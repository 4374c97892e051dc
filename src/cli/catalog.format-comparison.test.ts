import { expect, test } from 'vitest'
import type { CatalogView, LaneComparison } from '../admin/compare-catalog.ts'
import { formatComparison } from './catalog.ts'
import { styleFor } from './format.ts'

const LANE: LaneComparison = {
  model: 'fast',
  lane: 'far/gpt-5',
  upstream: 'far',
  wire: 'chat',
  dialect: 'openai',
  provider_model: 'gpt-5',
  known: true,
  facts: [
    { name: 'input', list: '1.00', snapshot: '1.25', differs: true, note: 'sold at a loss', loss: true },
    { name: 'output', list: '10.00', snapshot: '10.00', differs: false, note: null, loss: false },
    { name: 'efforts', list: null, snapshot: [], differs: true, note: null, loss: false },
  ],
  traits: [
    { name: 'sampling', value: true, from: 'list', snapshot: false, differs: true },
    { name: 'efforts', value: { none: 'disabled', low: 'low' }, from: 'snapshot', snapshot: null, differs: false },
    { name: 'json_schema', value: 'native', from: 'dialect', snapshot: null, differs: false },
  ],
  price_until: '2027-01-01',
}

const shown = (lanes: LaneComparison[], all: boolean, warnings: string[] = []) => {
  const view: CatalogView = { as_of: '2026-11-22', lanes, warnings }
  return formatComparison(styleFor(false), view, { all })
}

test('shows only differences, and repeats losses on stderr', () => {
  const { data, note } = shown([LANE], false, ['fast is sold at a loss.'])
  expect(data.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['model', 'lane', 'what', 'configured', 'known', 'note'],
    ['fast', 'far/gpt-5', 'input', '1.00', '1.25', 'sold at a loss'],
    ['fast', 'far/gpt-5', 'efforts', 'none'],
    ['fast', 'far/gpt-5', 'traits.sampling', 'yes', 'no', 'from your configuration'],
    [''],
  ])
  expect(note).toBe('Known facts of 2026-11-22. Your configuration decides.\nwarning: fast is sold at a loss.\n')
})

test('shows everything with --all, each trait with its origin', () => {
  const { data } = shown([LANE], true)
  expect(data).toMatch(/output +10\.00 +10\.00/)
  expect(data).toMatch(/price +another price from 2027-01-01 on/)
  expect(data).toMatch(/traits\.efforts +none=disabled low +from the known facts/)
  expect(data).toMatch(/traits\.json_schema +native +assumed by the dialect/)
})

test('reports lanes without known facts, and no differences', () => {
  const unknown = { ...LANE, known: false, facts: [], traits: [], provider_model: 'gpt-99' }
  expect(shown([unknown], false).data).toMatch(/no known facts of gpt-99 \(openai\)/)
  expect(shown([{ ...unknown, wire: 'demo' }], false).data).toMatch(/built in/)
  expect(shown([{ ...LANE, facts: [], traits: [] }], false)).toMatchObject({
    data: '',
    note: expect.stringMatching(/^No differences\./),
  })
  expect(shown([], false).note).toMatch(/^The configuration has no models\./)
})
