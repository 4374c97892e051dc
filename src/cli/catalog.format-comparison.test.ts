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

test('only what differs is shown, what costs money is said once more, on stderr', () => {
  const { data, aside } = shown([LANE], false, ['fast is sold at a loss.'])
  expect(data.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
    ['model', 'lane', 'what', 'list', 'known', 'note'],
    ['fast', 'far/gpt-5', 'input', '1.00', '1.25', 'sold at a loss'],
    ['fast', 'far/gpt-5', 'efforts', 'none'],
    ['fast', 'far/gpt-5', 'traits.sampling', 'yes', 'no', 'as your list says'],
    [''],
  ])
  expect(aside).toBe('Facts of 2026-11-22. They propose, your list decides.\nwarning: fast is sold at a loss.\n')
})

test('with --all everything is, each trait with who says it', () => {
  const { data } = shown([LANE], true)
  expect(data).toMatch(/output +10\.00 +10\.00/)
  expect(data).toMatch(/price +another one from 2027-01-01 on/)
  expect(data).toMatch(/traits\.efforts +none=disabled low +as is known of the model/)
  expect(data).toMatch(/traits\.json_schema +native +as the dialect assumes/)
})

test('a lane of which nothing is known is said so, and where nothing differs that is said', () => {
  const unknown = { ...LANE, known: false, facts: [], traits: [], provider_model: 'gpt-99' }
  expect(shown([unknown], false).data).toMatch(/nothing is known of gpt-99 \(openai\)/)
  expect(shown([{ ...unknown, wire: 'demo' }], false).data).toMatch(/built in/)
  expect(shown([{ ...LANE, facts: [], traits: [] }], false)).toMatchObject({
    data: '',
    aside: expect.stringMatching(/^Nothing differs\./),
  })
  expect(shown([], false).aside).toMatch(/^The configuration has no model\./)
})
