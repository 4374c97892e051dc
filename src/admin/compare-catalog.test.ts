import { describe, expect, test } from 'vitest'
import { definitionOf, modelDefinition, PRICE } from '../../test/fixtures/catalog/catalog.ts'
import { type LaneDefinition, loadCatalog, type ModelDefinition } from '../catalog/load-catalog.ts'
import type { PicoPerToken } from '../model/money.ts'
import type { PriceList } from '../model/price.ts'
import { compareCatalog } from './compare-catalog.ts'

const usd = (dollars: number) => BigInt(Math.round(dollars * 1e6)) as PicoPerToken

/** What the provider takes for claude-sonnet-4-5, the long requests included. */
const THEIR_PRICE: PriceList = {
  ...PRICE,
  tiers: [{ aboveInputTokens: 200_000, input: usd(6), cachedInput: usd(0.6), cacheWrite: usd(7.5), output: usd(22.5) }],
}

/** One model on one lane of a Claude that the snapshot knows, as its provider sells it but for what is said. */
async function compared(
  more: Partial<Omit<ModelDefinition, 'efforts'>> & { efforts?: string[] } = {},
  lane: Partial<LaneDefinition> = {},
) {
  const model = modelDefinition('mine', {
    price: THEIR_PRICE,
    contextTokens: 200_000,
    maxOutputTokens: 64_000,
    inputs: ['text', 'image', 'file'],
    efforts: ['none', 'minimal', 'low', 'medium', 'high'],
    lanes: [{ upstream: 'claude', model: 'claude-sonnet-4-5', priority: 1, weight: 1, ...lane }],
    ...more,
  })
  const definition = definitionOf(model)
  const claude = { ...definition.upstreams[0]!, id: 'claude', wire: 'chat' as const, dialect: 'anthropic' }
  const catalog = loadCatalog({ ...definition, upstreams: [...definition.upstreams, claude] }, () => 1)
  const outcome = await compareCatalog({ catalog: () => catalog }, {})
  if (outcome.kind !== 'done') throw new Error(outcome.message)
  const { lanes, warnings, as_of } = outcome.value
  return { lane: lanes[0]!, warnings, as_of, differing: lanes[0]!.facts.filter(({ differs }) => differs) }
}

describe('the list compared with the known facts', () => {
  test('has no differences when the facts agree', async () => {
    const { lane, differing, warnings, as_of } = await compared()
    expect(lane).toMatchObject({ model: 'mine', lane: 'claude/claude-sonnet-4-5', known: true, price_until: null })
    expect(lane.facts.map(({ name }) => name)).toEqual([
      ...['input', 'cached_input', 'cache_write', 'output', 'context_tokens', 'max_output_tokens', 'inputs', 'efforts'],
    ])
    expect([differing, warnings]).toEqual([[], []])
    expect(as_of).toMatch(/^\d{4}-\d{2}-\d{2}$/)
  })

  test('reports each class that is sold below its cost', async () => {
    const { differing, warnings } = await compared({
      price: { ...THEIR_PRICE, input: usd(4), cachedInput: usd(0.29), cacheWrite: usd(3), output: usd(14.999999) },
    })
    expect(differing.map(({ name, list, snapshot, loss }) => [name, list, snapshot, loss])).toEqual([
      ['input', '4.00', '3.00', false],
      ['cached_input', '0.29', '0.30', true],
      ['cache_write', '3.00', '3.75', true],
      ['output', '14.999999', '15.00', true],
    ])
    expect(warnings).toEqual([
      'mine on claude/claude-sonnet-4-5: cached_input is sold at 0.29 and costs 0.30 USD per million tokens: a loss.',
      'mine on claude/claude-sonnet-4-5: cache_write is sold at 3.00 and costs 3.75 USD per million tokens: a loss.',
      'mine on claude/claude-sonnet-4-5: output is sold at 14.999999 and costs 15.00 USD per million tokens: a loss.',
    ])
  })

  test('compares the prices of long requests up to the context', async () => {
    const flat = { price: { ...THEIR_PRICE, tiers: [] } }
    expect((await compared(flat)).warnings).toEqual([])
    const { warnings } = await compared({ ...flat, contextTokens: 1_000_000 })
    expect(warnings).toHaveLength(4)
    expect(warnings[0]).toBe(
      'mine on claude/claude-sonnet-4-5: input above 200000 is sold at 3.00 and costs 6.00 USD per million tokens: a loss.',
    )
  })

  test('compares a tier of the list with the provider’s only price', async () => {
    const tier = { aboveInputTokens: 100_000, ...PRICE, output: usd(1) }
    const { warnings } = await compared({ price: { ...PRICE, tiers: [tier] } })
    expect(warnings).toEqual([
      'mine on claude/claude-sonnet-4-5: output above 100000 is sold at 1.00 and costs 15.00 USD per million tokens: a loss.',
    ])
  })

  test('shows only the provider’s price, without a loss, when the list has none', async () => {
    const { differing, warnings } = await compared({ price: undefined })
    expect(differing.map(({ name, list }) => [name, list])).toContainEqual(['output', null])
    expect(warnings).toEqual([])
  })

  test('explains a size beyond that of the provider', async () => {
    const { differing } = await compared({ contextTokens: 1_000_000, maxOutputTokens: 32_000, price: undefined })
    const notes = differing.map(({ name, note }) => [name, note])
    expect(notes).toContainEqual(['context_tokens', 'more than the provider has: it refuses long requests'])
    expect(notes).toContainEqual(['max_output_tokens', null])
  })

  test('warns of a context smaller than that of the model', async () => {
    const { differing, warnings } = await compared({ contextTokens: 8192, maxOutputTokens: 4096 })
    const notes = differing.map(({ name, note }) => [name, note])
    expect(notes).toContainEqual(['context_tokens', 'less than the provider has: long requests are refused here'])
    expect(warnings).toContain(
      'mine on claude/claude-sonnet-4-5: context_tokens is 8192, but the model has 200000: longer requests are refused here.',
    )
    expect((await compared({ contextTokens: 200_000 })).warnings.filter((each) => each.includes('context'))).toEqual([])
  })

  test('explains how an unknown effort is sent', async () => {
    const { differing } = await compared({ efforts: ['low', 'xhigh'] })
    expect(differing).toEqual([
      {
        name: 'efforts',
        list: ['low', 'xhigh'],
        snapshot: ['none', 'minimal', 'low', 'medium', 'high'],
        differs: true,
        note: 'xhigh is sent as 24000',
        loss: false,
      },
    ])
  })

  test('compares nothing when the exact name is unknown', async () => {
    const { lane } = await compared({}, { model: 'claude-sonnet-4-5-but-ours' })
    expect(lane).toMatchObject({ known: false, facts: [] })
    expect(lane.traits.every(({ from }) => from === 'dialect')).toBe(true)
  })
})

describe('the traits of a lane', () => {
  const gpt = async (lane: Partial<LaneDefinition> = {}) => {
    const definition = definitionOf(
      modelDefinition('mine', { lanes: [{ upstream: 'far', model: 'gpt-5', priority: 1, weight: 1, ...lane }] }),
    )
    const far = { ...definition.upstreams[0]!, id: 'far', wire: 'chat' as const, dialect: 'openai' }
    const catalog = loadCatalog({ ...definition, upstreams: [far] }, () => 1)
    const outcome = await compareCatalog({ catalog: () => catalog }, { model: 'mine' })
    if (outcome.kind !== 'done') throw new Error(outcome.message)
    return outcome.value.lanes[0]!.traits
  }

  test('are listed with their origin', async () => {
    const traits = await gpt({ traits: { sampling: true, systemPrompt: false } })
    expect(traits.map(({ name, from }) => [name, from])).toEqual([
      ['efforts', 'snapshot'],
      ['sampling', 'list'],
      ['forced_tool_choice', 'dialect'],
      ['json_schema', 'dialect'],
      ['signed_calls', 'dialect'],
      ['system_prompt', 'list'],
    ])
    expect(traits[1]).toEqual({ name: 'sampling', value: true, from: 'list', snapshot: false, differs: true })
    // Nothing is known of it, so the list does not say anything else.
    expect(traits[5]).toMatchObject({ value: false, snapshot: null, differs: false })
  })

  test('do not differ when the list agrees', async () => {
    expect((await gpt({ traits: { sampling: false } })).some(({ differs }) => differs)).toBe(false)
  })
})

test('an unknown model is not found; a variant selects its model', async () => {
  const catalog = loadCatalog(
    definitionOf(modelDefinition('one', { efforts: ['low'] }), modelDefinition('two')),
    () => 1,
  )
  const ask = (model: string) => compareCatalog({ catalog: () => catalog }, { model })
  expect(await ask('three')).toMatchObject({ kind: 'refused', reason: 'model_not_found' })
  for (const id of ['one', 'one-low']) {
    const outcome = await ask(id)
    expect(outcome.kind === 'done' && outcome.value.lanes.map(({ model }) => model)).toEqual(['one'])
  }
})
