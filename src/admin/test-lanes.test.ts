import { describe, expect, it } from 'vitest'
import { upstreamAt } from '../../test/fixtures/providers/provider.ts'
import { loadCatalog } from '../catalog/load-catalog.ts'
import { chosenLanes } from './test-lanes.ts'

const far = upstreamAt('https://far.example/v1', { id: 'far' })
const near = upstreamAt('https://near.example/v1', { id: 'near' })
const idle = upstreamAt('https://idle.example/v1', { id: 'idle' })
const upstreams = [far, near, idle]
const lane = (upstream: string, model: string) => ({ upstream, model, priority: 1, weight: 1 })
const model = (id: string, lanes: ReturnType<typeof lane>[]) => ({
  ...{ id, ownedBy: 'x', createdAt: 0, efforts: ['low', 'high'], inputs: ['text'], contextTokens: 100 },
  ...{ maxOutputTokens: 10, bytesPerToken: 4, choicesMax: 1, price: undefined, kinds: [], passFields: [], lanes },
})

const catalog = loadCatalog(
  {
    upstreams,
    models: [
      model('one', [lane('far', 'a'), lane('near', 'a')]),
      model('two', [lane('far', 'a'), lane('far', 'b')]),
    ] as never,
  },
  () => 0,
)

const chosen = (...names: string[]) => {
  const { byUpstream, unknown } = chosenLanes(catalog, upstreams, names)
  const lanes = byUpstream.map(({ upstream, lanes: own }) =>
    [upstream.id, ...own.map(({ lane: { id } }) => id)].join(' '),
  )
  return { lanes, unknown }
}

describe('the lanes that are asked', () => {
  it.each<[string[], string[]]>([
    [[], ['far far/a far/b', 'near near/a', 'idle']],
    [['near'], ['near near/a']],
    [['idle'], ['idle']],
    [['one'], ['far far/a', 'near near/a']],
    [['one-high'], ['far far/a', 'near near/a']],
    [['far/b'], ['far far/b']],
    [
      ['far/b', 'near'],
      ['far far/b', 'near near/a'],
    ],
  ])('for %j are %j', (names, lanes) => {
    expect(chosen(...names)).toEqual({ lanes, unknown: [] })
  })

  it('are none for an unknown name', () => {
    expect(chosen('fra', 'one', '__proto__')).toMatchObject({ unknown: ['fra', '__proto__'] })
  })

  it('know all the models that run on them, once', () => {
    const [first] = chosenLanes(catalog, upstreams, []).byUpstream
    expect(first?.lanes.map(({ models }) => models)).toEqual([['one', 'two'], ['two']])
  })
})
