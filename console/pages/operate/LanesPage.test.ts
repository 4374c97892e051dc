import { expect, it } from 'vitest'
import { findModels, type OperatorModel, stateOf } from './LanesPage.tsx'

type Lane = OperatorModel['lanes'][number]

const lane = (upstream: string, reason?: string, first_percent = reason === undefined ? 100 : 0): Lane => ({
  id: upstream,
  model: 'm',
  upstream,
  wire: 'chat',
  upstream_model: 'x/y',
  priority: 1,
  weight: 1,
  first_percent,
  aside: reason === undefined ? null : { reason, seconds_left: 3 },
})
const model = (id: string, ...lanes: OperatorModel['lanes']): OperatorModel => ({
  id,
  kinds: ['wallet'],
  price_input: null,
  price_output: null,
  context_tokens: 1000,
  counted_beyond_context: null,
  estimate_error: null,
  lanes,
})

const MODELS = [
  model('good', lane('azure')),
  model('half', lane('azure', 'failing'), lane('groq')),
  model('none', lane('groq', 'failing')),
  model('bare'),
]
const idsOf = (search: string, trouble: boolean) => findModels(MODELS, { search, trouble }).map(({ id }) => id)

it('derives the state of a model from its lanes', () => {
  expect(MODELS.map(stateOf)).toEqual(['good', 'some-aside', 'all-aside', 'no-lanes'])
  expect(stateOf(model('due', lane('groq', 'failing', 100)))).toBe('some-aside')
})

it('finds models by name and provider', () => {
  expect(idsOf('', false)).toHaveLength(4)
  expect(idsOf('GROQ', false)).toEqual(['half', 'none'])
  expect(idsOf('groq azure', false)).toEqual(['half'])
})

it('keeps only models with issues', () => {
  expect(idsOf('', true)).toEqual(['half', 'none', 'bare'])
  const small = { ...model('small', lane('azure')), counted_beyond_context: 1001 }
  expect(findModels([small], { search: '', trouble: true })).toEqual([small])
})
