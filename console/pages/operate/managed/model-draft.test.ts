import { expect, it } from 'vitest'
import { draftOf, entryOf } from './model-draft.ts'

const SMALL = {
  ...{ id: 'small', context_tokens: 1000, max_output_tokens: 100 },
  lanes: [{ upstream: 'demo', model: 'demo' }],
}

const WHOLE = {
  ...{ id: 'whole', owned_by: 'acme', description: 'All of it', created: '2026-01-01', efforts: ['low', 'high'] },
  ...{ inputs: ['text', 'file'], input_tokens_max: { file: 5000 }, context_tokens: 1000, max_output_tokens: 100 },
  ...{ bytes_per_token: 3.5, choices_max: 4, kinds: ['builder'], pass_fields: ['seed_of_mine'] },
  lanes: [
    {
      ...{ upstream: 'a', model: 'm', priority: 3, weight: 7, prompt_cache: 'off', traits: { sampling: true } },
      cost: { input: '1', output: '2', cached_input: '0.5', per_request: '0.01', tiers: [] },
    },
    { upstream: 'b', model: 'n', cost: { input: '0', output: '0' } },
  ],
}

it.each([
  ['a small entry', SMALL],
  ['an entry with every key', WHOLE],
  ['one that refuses every effort', { ...SMALL, efforts: [] }],
])('%s that is saved as it was opened stays as it is', (_, entry) => {
  expect(entryOf(entry, draftOf(entry, []))).toEqual(entry)
})

it('the price is left out, so that the one in force stays', () => {
  const entry = { ...SMALL, price: { input: '1', output: '2' } }
  expect(entryOf(entry, draftOf(entry, []))).toEqual(SMALL)
})

it('what is emptied is left out', () => {
  const { texts, lanes, ...draft } = draftOf(WHOLE, [])
  const emptied = { ...texts, description: ' ', efforts: '', file: '' }
  const entry = entryOf(WHOLE, {
    ...draft,
    texts: emptied,
    lanes: lanes.map((lane) => ({ ...lane, input: '', output: '' })),
  })
  for (const key of ['description', 'efforts', 'input_tokens_max']) expect(entry).not.toHaveProperty(key)
  expect(entry.inputs).toEqual(['text'])
  expect((entry.lanes as object[]).filter((lane) => 'cost' in lane)).toEqual([])
})

it('a new model begins with the first provider', () => {
  expect(draftOf({}, ['acme', 'other']).lanes.map(({ upstream }) => upstream)).toEqual(['acme'])
})
