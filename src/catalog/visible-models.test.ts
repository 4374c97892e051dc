import { expect, test } from 'vitest'
import { catalogOf, modelDefinition } from './catalog.fixture.ts'
import { visibleModels } from './visible-models.ts'

const catalog = catalogOf(
  modelDefinition('fast', { efforts: ['low', 'high'] }),
  modelDefinition('fast-coder'),
  modelDefinition('ends-in-high'),
  modelDefinition('for-wallets', { kinds: ['wallet'] }),
  modelDefinition('for-builders', { kinds: ['builder'] }),
  modelDefinition('vendor/model:tag'),
  modelDefinition('unpriced', { price: undefined, efforts: ['low'] }),
)

const seen = (kind: 'wallet' | 'builder', models?: string[]) =>
  visibleModels(catalog, { kind, models, plan: undefined }).map((entry) => entry.id)

const COMMON = ['fast', 'fast-low', 'fast-high', 'fast-coder', 'ends-in-high']

test('without a list of its own a key sees every priced model of its kind', () => {
  expect(seen('wallet')).toEqual([...COMMON, 'for-wallets', 'vendor/model:tag'])
  expect(seen('builder')).toEqual([...COMMON, 'for-builders', 'vendor/model:tag'])
})

test.each([
  { title: 'a base id admits its variants', models: ['fast'], ids: ['fast', 'fast-low', 'fast-high'] },
  { title: 'a variant admits only itself', models: ['fast-high'], ids: ['fast-high'] },
  { title: 'a glob is held against base ids', models: ['fast*'], ids: ['fast', 'fast-low', 'fast-high', 'fast-coder'] },
  { title: 'a glob that only a variant would match admits nothing', models: ['*-low'], ids: [] },
  { title: 'a name that ends like an effort is no variant', models: ['*-high'], ids: ['ends-in-high'] },
  { title: 'a glob reaches over slashes', models: ['vendor*'], ids: ['vendor/model:tag'] },
  { title: 'an empty list admits nothing', models: [], ids: [] },
  { title: 'an unknown id admits nothing', models: ['nothing'], ids: [] },
  { title: 'a list cannot open a model of the other kind', models: ['for-builders', '*builders'], ids: [] },
  { title: 'a list cannot open a model without a price', models: ['unpriced', 'unpriced-low', 'unp*'], ids: [] },
  {
    title: 'entries add up, each id once',
    models: ['fast-low', 'fast-coder', 'fast-l*'],
    ids: ['fast-low', 'fast-coder'],
  },
  { title: 'letter case counts', models: ['Fast'], ids: [] },
])('$title', ({ models, ids }) => {
  expect(seen('wallet', models)).toEqual(ids)
})
