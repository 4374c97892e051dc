import { describe, expect, test } from 'vitest'
import { catalogOf, definitionOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { knownEfforts, knownModel, knownModels, knownTraits } from './known-models.ts'
import { type LaneDefinition, loadCatalog } from './load-catalog.ts'

describe('what is known of a model', () => {
  test('is found by its exact name, or another exact name of it, and by nothing else', () => {
    const known = knownModel('anthropic', 'claude-haiku-4-5')
    expect(known).toMatchObject({ id: 'claude-haiku-4-5', contextTokens: 200_000, maxOutputTokens: 64_000 })
    expect(knownModel('anthropic', 'claude-haiku-4-5-20251001')).toBe(known)
    for (const name of ['claude-haiku-4-5-20991231', 'claude-haiku-4', 'Claude-Haiku-4-5', ' claude-haiku-4-5', '']) {
      expect(knownModel('anthropic', name)).toBeUndefined()
    }
    expect(knownModel('openai', 'claude-haiku-4-5')).toBeUndefined()
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('is nothing for %s', (name) => {
    expect(knownModel(name, 'gpt-5')).toBeUndefined()
    expect(knownModel('openai', name)).toBeUndefined()
  })

  test('is read once', () => {
    expect(knownModels()).toBe(knownModels())
  })

  test('of how it is asked holds on the wires that it is written for only', () => {
    const model = 'gemini-2.5-flash'
    expect(knownTraits({ wire: 'gemini', dialect: 'google' }, model).efforts).toMatchObject({ none: 0, low: 1024 })
    expect(knownTraits({ wire: 'chat', dialect: 'google' }, model)).toEqual({})
    expect(knownTraits({ wire: 'demo', dialect: 'openai' }, 'gpt-5')).toEqual({})
    expect(knownTraits({ wire: 'chat', dialect: 'generic' }, 'gpt-5')).toEqual({})
  })

  test('of efforts names each way to think once', () => {
    expect(knownEfforts({ none: 'disabled', minimal: 'low', low: 'low', max: 'max' })).toEqual(['none', 'low', 'max'])
    expect(knownEfforts({ none: 'none', low: 'default', high: 'default' })).toEqual(['none', 'high'])
    expect(knownEfforts({})).toEqual([])
  })
})

describe('a lane is asked', () => {
  const laneOf = (lane: Partial<LaneDefinition>) => {
    const definition = definitionOf(
      modelDefinition('one', { lanes: [{ upstream: 'far', model: 'gpt-5', priority: 1, weight: 1, ...lane }] }),
    )
    const [upstream] = definition.upstreams
    const far = { ...upstream!, id: 'far', wire: 'chat' as const, dialect: 'openai', baseUrl: 'https://far.example/v1' }
    return loadCatalog({ ...definition, upstreams: [far] }, () => 1).models[0]!.lanes[0]!
  }

  test('as is known of its model', () => {
    expect(laneOf({}).traits).toEqual({
      efforts: { minimal: 'minimal', low: 'low', medium: 'medium', high: 'high' },
      sampling: false,
    })
  })

  test('from the configuration override the known ones', () => {
    const { traits, listedTraits } = laneOf({ traits: { sampling: true, jsonSchema: 'none' } })
    expect(traits).toMatchObject({ sampling: true, jsonSchema: 'none', efforts: { low: 'low' } })
    expect(listedTraits).toEqual({ sampling: true, jsonSchema: 'none' })
  })

  test('as its dialect assumes, where nothing is known and nothing is written', () => {
    expect(laneOf({ model: 'gpt-5-of-our-own' }).traits).toEqual({})
  })

  test('and nothing of that changes what is charged and promised', () => {
    const [model] = catalogOf(modelDefinition('gpt-5')).models
    expect(model).toMatchObject({ contextTokens: 1000, maxOutputTokens: 100, inputs: ['text'], efforts: undefined })
  })
})
