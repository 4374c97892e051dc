import { expect, it } from 'vitest'
import type { ModelItem } from '../../queries/account.ts'
import { findModels, type ModelFilter, readModelFilter, writeModelFilter } from './ModelsPage.tsx'

const model = (id: string, more: Partial<ModelItem> = {}): ModelItem => ({
  ...{ id, variants: [], efforts: [], inputs: ['text'], context_tokens: 1_000, max_output_tokens: 100 },
  ...{ kinds: ['wallet'], price: null, available: true, demo: false },
  day: { success_percent: null, first_ms: null, tokens_per_second: null },
  ...more,
})
const ALL: ModelFilter = { text: '', kind: 'any', onlyAvailable: false }

it('finds models by terms of their ids and variants', () => {
  const models = [model('fast-coder', { variants: ['fast-coder-high'] }), model('slow-writer')]
  const ids = (text: string) => findModels(models, { ...ALL, text }).map(({ id }) => id)
  expect(ids('COD fast')).toEqual(['fast-coder'])
  expect(ids('high')).toEqual(['fast-coder'])
  expect(ids(' ')).toEqual(['fast-coder', 'slow-writer'])
  expect(ids('nothing')).toEqual([])
})

it('filters by payer and availability', () => {
  const models = [model('a', { kinds: ['builder', 'wallet'] }), model('b', { available: false })]
  expect(findModels(models, { ...ALL, kind: 'builder' })).toEqual([models[0]])
  expect(findModels(models, { ...ALL, onlyAvailable: true })).toEqual([models[0]])
})

it('round-trips through the address', () => {
  for (const filter of [ALL, { text: 'gpt 5', kind: 'builder', onlyAvailable: true } as const]) {
    expect(readModelFilter(writeModelFilter(filter))).toEqual(filter)
  }
  expect(readModelFilter({ kind: 'gold', available: 'perhaps' })).toEqual(ALL)
})
