import { describe, expect, test } from 'vitest'
import { load } from '../../test/fixtures/config/config.ts'
import { catalogView, proposeModel } from '../admin/compare-catalog.ts'
import { knownModels } from '../catalog/known-models.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'

const proposals = [...knownModels().providers].map(([dialect, { wires, models }]) => {
  const [wire] = wires
  const upstream = `upstreams: [{ id: ${dialect}, wire: ${wire}, dialect: ${dialect}, base_url: "https://a.example/v1" }]\n`
  return { dialect, upstream, models: [...models] }
})

describe.each(proposals)('the proposal for $dialect', ({ upstream, models }) => {
  test('loads as it is, and differs from the known facts only in inputs that need a token limit', () => {
    let whole = 0
    for (const [name, known] of models) {
      const { contextTokens, maxOutputTokens } = known
      const outcome = load({ yaml: upstream + proposeModel(known, name) })
      if (outcome.kind === 'invalid') {
        // Only unknown values are missing.
        const missing = [
          ...(contextTokens === undefined ? ['models[0].context_tokens'] : []),
          ...(maxOutputTokens === undefined ? ['models[0].max_output_tokens'] : []),
        ]
        expect(
          outcome.problems.map(({ path }) => path),
          name,
        ).toEqual(missing)
        continue
      }
      whole++
      const { config } = outcome
      const view = catalogView(loadCatalog(config, () => 1).models)
      const differing = view.lanes.flatMap(({ facts }) => facts.filter(({ differs }) => differs))
      expect(
        differing.map((fact) => fact.name).filter((fact) => fact !== 'inputs'),
        name,
      ).toEqual([])
      expect(view.warnings, name).toEqual([])
    }
    const expected = models.filter(([, each]) => each.contextTokens && each.maxOutputTokens)
    expect(whole).toBe(expected.length)
  })
})
