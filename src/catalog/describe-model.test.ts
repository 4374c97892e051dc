import { expect, test } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { describeModel } from './describe-model.ts'

const catalog = catalogOf(
  modelDefinition('a', { efforts: ['low', 'high'], description: 'Quick.' }),
  modelDefinition('open'),
)

test('an entry has what SDKs type and what user interfaces like to know', () => {
  expect(describeModel(catalog.entries.get('a')!)).toEqual({
    id: 'a',
    object: 'model',
    created: 1_795_132_800,
    owned_by: 'millrace',
    description: 'Quick.',
    context_length: 1000,
    max_output_tokens: 100,
    input_modalities: ['text'],
    supported_reasoning_efforts: ['low', 'high'],
  })
})

test('a variant supports its own effort only', () => {
  const described = describeModel(catalog.entries.get('a-high')!)
  expect(described).toMatchObject({ id: 'a-high', supported_reasoning_efforts: ['high'] })
})

test('where any effort is passed on, none is listed', () => {
  expect(describeModel(catalog.entries.get('open')!)).not.toHaveProperty('supported_reasoning_efforts')
})
