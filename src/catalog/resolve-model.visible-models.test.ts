import { describe, expect, test } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { modelsOfPlan, visibleModels } from './resolve-model.ts'

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

describe('a builder key on a plan', () => {
  const plan = (id: string, models: string[]) => ({ id, models, windows: [] })
  const planned = {
    ...catalog,
    plans: new Map([plan('fast', ['fast*']), plan('low', ['fast-low', 'for-*'])].map((one) => [one.id, one])),
  }
  const seenOn = (id: string | undefined, models?: string[], kind: 'wallet' | 'builder' = 'builder') =>
    visibleModels(planned, { kind, models, plan: id === undefined ? undefined : { id, endsAt: undefined } }).map(
      (entry) => entry.id,
    )

  test('sees what the plan covers and the model allows', () => {
    expect(seenOn('fast')).toEqual(['fast', 'fast-low', 'fast-high', 'fast-coder'])
    expect(seenOn('low')).toEqual(['fast-low', 'for-builders'])
  })

  test('and of that what its own list admits', () => {
    expect(seenOn('fast', ['fast-high', 'for-builders'])).toEqual(['fast-high'])
    expect(seenOn('low', ['fast-high'])).toEqual([])
  })

  test('without a plan, or on one that is not there any more, sees what it could call with one', () => {
    expect(seenOn(undefined)).toEqual([...COMMON, 'for-builders', 'vendor/model:tag'])
    expect(seenOn('gone')).toEqual([...COMMON, 'for-builders', 'vendor/model:tag'])
  })

  test('a wallet key does not see less for a plan', () => {
    expect(seenOn('low', undefined, 'wallet')).toEqual([...COMMON, 'for-wallets', 'vendor/model:tag'])
  })

  test('what a plan opens is told by base ids, without what builder keys may not call', () => {
    const opens = (models: string[]) => modelsOfPlan(catalog.entries.values(), plan('p', models))
    expect(opens(['fast-low', 'fast-high'])).toEqual(['fast'])
    expect(opens(['for-*'])).toEqual(['for-builders'])
    expect(opens(['for-wallets', 'unpriced'])).toEqual([])
  })
})
