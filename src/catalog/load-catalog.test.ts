import { expect, test } from 'vitest'
import { definitionOf, modelDefinition, PRICE } from '../../test/fixtures/catalog/catalog.ts'
import { loadCatalog } from './load-catalog.ts'

test('every effort registers an id of its own, in the order of the list', () => {
  const definition = definitionOf(
    modelDefinition('a', { efforts: ['low', 'high'] }),
    modelDefinition('b'),
    modelDefinition('c', { efforts: [] }),
  )
  const catalog = loadCatalog(definition, () => 1)
  expect([...catalog.entries.keys()]).toEqual(['a', 'a-low', 'a-high', 'b', 'c'])
  expect(catalog.entries.get('a-high')).toEqual({ id: 'a-high', model: catalog.models[0], suffixEffort: 'high' })
  expect(catalog.entries.get('a')?.suffixEffort).toBeUndefined()
})

test('priced models get the version of their price', () => {
  const asked: string[] = []
  const definition = definitionOf(modelDefinition('a'), modelDefinition('free', { price: undefined }))
  const catalog = loadCatalog(definition, (id, price) => {
    asked.push(id)
    expect(price).toBe(PRICE)
    return 7
  })
  expect(asked).toEqual(['a'])
  expect(catalog.models.map((model) => model.price?.version)).toEqual([7, undefined])
})

test('a lane carries its upstream and is named after both', () => {
  const catalog = loadCatalog(definitionOf(modelDefinition('a')), () => 1)
  expect(catalog.models[0]?.lanes[0]).toMatchObject({ id: 'demo/a', model: 'a', upstream: { wire: 'demo' } })
})

test('invalid definitions throw', () => {
  const twice = definitionOf(modelDefinition('a', { efforts: ['high'] }), modelDefinition('a-high'))
  expect(() => loadCatalog(twice, () => 1)).toThrow('a-high occurs twice')
  const lanes = [{ upstream: 'gone', model: 'x', priority: 1, weight: 1 }]
  expect(() => loadCatalog(definitionOf(modelDefinition('a', { lanes })), () => 1)).toThrow('unknown upstream gone')
})
