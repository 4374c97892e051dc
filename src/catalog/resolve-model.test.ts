import { describe, expect, test } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { effortOf } from '../model/effort.ts'
import { resolveModel } from './resolve-model.ts'

const catalog = catalogOf(
  modelDefinition('thinker', { efforts: ['none', 'low', 'high'] }),
  modelDefinition('open', { efforts: undefined }),
  modelDefinition('plain', { efforts: [] }),
  modelDefinition('builders-only', { kinds: ['builder'] }),
  modelDefinition('unpriced', { price: undefined }),
  modelDefinition('ends-in-high'),
)

const resolve = (model: string, effort?: string, models?: string[], effortParam = 'reasoning_effort') =>
  resolveModel(
    catalog,
    { kind: 'wallet', models, plan: undefined },
    { model, effort: effort === undefined ? undefined : effortOf(effort), effortParam },
  )

const refusalOf = (...asked: Parameters<typeof resolve>) => {
  const resolution = resolve(...asked)
  if (resolution.kind !== 'refused') throw new Error('it was resolved')
  return resolution.problem
}

describe('effort: suffix and field', () => {
  test.each([
    { row: 'neither: the provider’s default', model: 'thinker', field: undefined, effort: undefined },
    { row: 'field alone, in the list', model: 'thinker', field: 'high', effort: 'high' },
    { row: 'field alone in capitals', model: 'thinker', field: 'HIGH', effort: 'high' },
    { row: 'none is a value, not absence', model: 'thinker', field: 'none', effort: 'none' },
    { row: 'suffix alone', model: 'thinker-high', field: undefined, effort: 'high' },
    { row: 'suffix and field agree', model: 'thinker-high', field: 'high', effort: 'high' },
    { row: 'suffix and field agree but for case', model: 'thinker-high', field: 'High', effort: 'high' },
    { row: 'no list: any word is passed on', model: 'open', field: 'ultra', effort: 'ultra' },
    { row: 'an id that only ends like one', model: 'ends-in-high', field: 'low', effort: 'low' },
    { row: 'empty list, no field', model: 'plain', field: undefined, effort: undefined },
  ])('$row', ({ model, field, effort }) => {
    expect(resolve(model, field)).toMatchObject({ kind: 'resolved', entry: { id: model }, effort })
  })

  test('a conflict names both values and the cure', () => {
    const refusal = refusalOf('thinker-high', 'low')
    expect(refusal).toMatchObject({ code: 'reasoning_effort_conflict', param: 'reasoning_effort' })
    expect(refusal.message).toBe(
      "The model 'thinker-high' fixes the effort to 'high', but reasoning_effort is 'low'. " +
        "Leave reasoning_effort out, or send it with the model 'thinker'.",
    )
  })

  test('whom the conflict meets in Codex is told what to write in its settings', () => {
    expect(refusalOf('thinker-high', 'medium', undefined, 'reasoning.effort').message).toBe(
      "The model 'thinker-high' fixes the effort to 'high', but reasoning.effort is 'medium'. " +
        "Leave reasoning.effort out, or send it with the model 'thinker'. " +
        'In Codex, set model_reasoning_effort = "high".',
    )
    expect(refusalOf('thinker', 'medium', undefined, 'reasoning.effort').message).toMatch(
      /supports only none, low, high\. In Codex, set model_reasoning_effort to one of them\.$/,
    )
    expect(refusalOf('plain', 'medium', undefined, 'reasoning.effort').message).toMatch(
      /leave reasoning\.effort out\. .* In Codex, set model_catalog_url = "<base_url>\/models" for this provider\.$/,
    )
  })

  test('a conflict is a conflict even with a word that the model does not have', () => {
    expect(refusalOf('thinker-high', 'ultra', undefined, 'reasoning.effort')).toMatchObject({
      code: 'reasoning_effort_conflict',
      param: 'reasoning.effort',
    })
  })

  test('neighbouring words are not taken for each other', () => {
    expect(refusalOf('thinker', 'minimal').code).toBe('unsupported_value')
  })

  test('a word that the model does not have is refused with the words that it has', () => {
    const refusal = refusalOf('thinker', 'medium')
    expect(refusal).toMatchObject({ code: 'unsupported_value', param: 'reasoning_effort' })
    expect(refusal.message).toBe("reasoning_effort is 'medium', but the model 'thinker' supports only none, low, high.")
  })

  test.each(['none', 'low'])('a model without efforts refuses %s', (word) => {
    const refusal = refusalOf('plain', word)
    expect(refusal.code).toBe('unsupported_value')
    expect(refusal.message).toContain('has no effort levels: leave reasoning_effort out')
  })
})

describe('a model that cannot be had', () => {
  test.each([
    ['is not there', 'nothing'],
    ['is for the other kind of key', 'builders-only'],
    ['has no price', 'unpriced'],
    ['is written in another case', 'Thinker'],
    ['would be a variant, but is not registered', 'open-high'],
    ['is the name of an object’s own part', '__proto__'],
  ])('because it %s is model_not_found, in the same words', (_, id) => {
    const refusal = refusalOf(id)
    expect(refusal).toMatchObject({ code: 'model_not_found', param: 'model' })
    expect(refusal.message).toBe(
      `The model '${id}' does not exist or is not available to this key. GET /v1/models lists what the key may use (7).`,
    )
  })

  test('because of the key’s list gets the same message for any effort', () => {
    const listed = ['thinker-high']
    for (const refusal of [refusalOf('thinker', 'ultra', listed), refusalOf('nothing', 'ultra', listed)]) {
      expect(refusal.code).toBe('model_not_found')
      expect(refusal.message).toContain('GET /v1/models lists what the key may use (1)')
    }
    expect(resolve('thinker-high', 'high', listed).kind).toBe('resolved')
    expect(refusalOf('thinker', undefined, []).message).toContain('This key has access to no models')
  })

  test('is not repeated by the screenful', () => {
    expect(refusalOf('x'.repeat(100_000)).message.length).toBeLessThan(300)
  })
})
