import { expect, test } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import type { CatalogEntry } from './catalog.ts'
import { describeForCodex } from './describe-model.ts'

const describe = (...definitions: Parameters<typeof catalogOf>) =>
  describeForCodex([...catalogOf(...definitions).entries.values()])

const levels = (...efforts: string[]) => efforts.map((effort) => ({ effort, description: `${effort} effort` }))

test('an entry has every key without which Codex decodes nothing of the list', () => {
  const [entry] = describe(modelDefinition('a', { efforts: ['low', 'high'], description: 'Quick.' }))
  expect(entry).toEqual({
    slug: 'a',
    display_name: 'a',
    description: 'Quick.',
    supported_reasoning_levels: levels('low', 'high'),
    visibility: 'list',
    supported_in_api: true,
    priority: 0,
    base_instructions: expect.stringContaining('coding agent'),
    context_window: 1000,
    input_modalities: ['text'],
    shell_type: 'unified_exec',
    apply_patch_tool_type: 'freeform',
    support_verbosity: false,
    truncation_policy: { mode: 'tokens', limit: 10_000 },
    experimental_supported_tools: [],
  })
})

test('a suffix is the only and the default level, an id without one has no default', () => {
  const [plain, ...variants] = describe(modelDefinition('gpt-5.5', { efforts: ['low', 'gentle'] }))
  expect(plain).not.toHaveProperty('default_reasoning_level')
  expect(variants).toMatchObject([
    { slug: 'gpt-5.5-low', supported_reasoning_levels: levels('low'), default_reasoning_level: 'low' },
    { slug: 'gpt-5.5-gentle', supported_reasoning_levels: levels('gentle'), default_reasoning_level: 'gentle' },
  ])
})

test('the order of the list is the order of the picker', () => {
  const described = describe(modelDefinition('b', { efforts: ['low'] }), modelDefinition('a'))
  expect(described.map(({ slug, priority }) => [slug, priority])).toEqual([
    ['b', 0],
    ['b-low', 1],
    ['a', 2],
  ])
})

test('a model without levels is kept out of the picker, which would send it an effort', () => {
  const described = describe(modelDefinition('none', { efforts: [] }), modelDefinition('any'))
  expect(described).toMatchObject([
    { slug: 'none', supported_reasoning_levels: [], visibility: 'hide' },
    { slug: 'any', supported_reasoning_levels: [], visibility: 'hide' },
  ])
})

test('ultra, which Codex sends as max, is offered nowhere', () => {
  const described = describe(modelDefinition('a', { efforts: ['max', 'ultra'] }))
  const ultra = described.find(({ slug }) => slug === 'a-ultra')
  expect(described[0]).toMatchObject({ slug: 'a', supported_reasoning_levels: levels('max') })
  expect(ultra).toMatchObject({ supported_reasoning_levels: [], visibility: 'hide' })
  expect(ultra).not.toHaveProperty('default_reasoning_level')
})

test('of the inputs only those are named that Codex can decode', () => {
  const [entry] = catalogOf(modelDefinition('a', { inputs: ['text', 'image', 'file'] })).entries.values()
  const [described] = describeForCodex([entry as CatalogEntry])
  expect(described?.input_modalities).toEqual(['text', 'image'])
})
