import { describe, expect, it } from 'vitest'
import { loaded, sourcesOf, type World } from '../../test/fixtures/config/config.ts'
import { knownModels } from '../catalog/known-models.ts'
import { formatPricePerMillion } from '../model/money.ts'
import { loadConfig } from './load-config.ts'

const UPSTREAM = 'upstreams: [{ id: openai, wire: responses, base_url: "https://api.openai.com/v1", api_key: k }]\n'
const yamlOf = (imports: string, more = '') => `${UPSTREAM}imports:\n${imports}${more}`
const LOCK = '/srv/millrace.lock.yaml'

/** What `check --pin` would write for this file. */
function lockOf(yaml: string): string {
  const outcome = loadConfig(sourcesOf({ yaml }), { pins: 'catalogue' })
  if (outcome.kind === 'invalid') throw new Error(outcome.problems.map(({ message }) => message).join())
  return outcome.imports!.lock
}

const pinned = (yaml: string, lock = lockOf(yaml)): World => ({ yaml, files: { [LOCK]: lock } })
const problemsOf = (world: World) => {
  const outcome = loadConfig(sourcesOf(world))
  return outcome.kind === 'loaded' ? [] : outcome.problems.map(({ path, message, cure }) => ({ path, message, cure }))
}
const ONE = '  - { from: openai/gpt-5, upstream: openai, markup: "1.2" }\n'

describe('an import', () => {
  it('offers the models that its pattern names, without those of except, under a prefix', () => {
    const yaml = yamlOf(
      '  - { from: "openai/gpt-5*", upstream: openai, except: ["*-mini", "*-nano"], prefix: acme/ }\n',
    )
    const { config, imports } = loaded(pinned(yaml))
    const ids = config.models.map(({ id }) => id)
    expect(ids).toContain('acme/gpt-5')
    expect(ids.filter((id) => !id.startsWith('acme/gpt-5') || /-(mini|nano)$/.test(id))).toEqual([])
    const model = config.models.find(({ id }) => id === 'acme/gpt-5')
    expect(model).toMatchObject({ contextTokens: 400_000, lanes: [{ upstream: 'openai', model: 'gpt-5' }] })
    expect(model?.inputs).toEqual(['text'])
    expect(model?.importedFrom).toBe('openai/gpt-5*')
    expect(imports?.origins.get('acme/gpt-5')).toBe('openai/gpt-5*')
    expect(imports?.differences).toEqual([])
  })

  it('multiplies each pinned price exactly and rounds up once', () => {
    const priceWith = (markup: string, lock?: string) => {
      const { price } = loaded(pinned(yamlOf(ONE.replace('1.2', markup)), lock)).config.models[0]!
      return [price!.input, price!.cachedInput, price!.output].map(formatPricePerMillion)
    }
    expect(priceWith('1.2')).toEqual(['1.50', '0.15', '12.00'])
    expect(priceWith('1')).toEqual(['1.25', '0.125', '10.00'])
    const pin = '{ context_tokens: 10, max_output_tokens: 10, price: { input: "0.000101", output: "0.333333" } }'
    const lock = `catalogue: "2026-01-01"\nmodels: { openai/gpt-5: ${pin} }\n`
    expect(priceWith('1.000001', lock)).toEqual(['0.000102', '0.000102', '0.333334'])
  })

  it('refuses to serve prices that are not pinned, and names the command', () => {
    expect(problemsOf({ yaml: yamlOf(ONE) })).toEqual([
      {
        path: 'imports[0].from',
        message: 'the prices of these models are not pinned',
        cure: expect.stringContaining('millrace check --pin'),
      },
    ])
  })

  it('keeps the pinned price when the catalogue has another one, and says what differs', () => {
    const yaml = yamlOf('  - { from: "openai/gpt-5*", upstream: openai }\n')
    const lines = lockOf(yaml).split('\n')
    const lock = lines
      .filter((line) => !line.includes('"openai/gpt-5-mini"'))
      .map((line) => (line.includes('"openai/gpt-5"') ? line.replace('"input":"1.25"', '"input":"9.99"') : line))
      .map((line) => (line.includes('"openai/gpt-5-nano"') ? line.replace('400000', '300000') : line))
      .concat('  "openai/gpt-5-gone": {"context_tokens":9,"max_output_tokens":9,"price":{"input":"1","output":"1"}}')
      .join('\n')
    const { config, imports } = loaded(pinned(yaml, lock))
    expect(formatPricePerMillion(config.models.find(({ id }) => id === 'gpt-5')!.price!.input)).toBe('9.99')
    expect(config.models.some(({ id }) => id === 'gpt-5-mini')).toBe(false)
    expect(imports?.differences).toEqual([
      '1 model changed price: openai/gpt-5.',
      '1 model changed context, output limit or efforts: openai/gpt-5-nano.',
      '1 model left the catalogue: openai/gpt-5-gone.',
      '1 model not served, because not pinned: openai/gpt-5-mini.',
    ])
  })

  it('pins the announced end of a price, and says when the catalogue has another end', () => {
    const [known] = [...knownModels().providers].flatMap(([dialect, { models }]) =>
      [...models.values()].flatMap(({ id, priceUntil }) =>
        priceUntil ? [{ name: `${dialect}/${id}`, priceUntil }] : [],
      ),
    )
    expect(known).toBeDefined()
    const { name, priceUntil } = known!
    const yaml = yamlOf(`  - { from: ${name}, upstream: openai }\n`)
    const lock = lockOf(yaml)
    expect(loaded(pinned(yaml, lock)).imports).toMatchObject({
      differences: [],
      priceEnds: new Map([[priceUntil, [name]]]),
    })
    const before = lock.replace(`,"price_until":"${priceUntil}"`, '')
    expect(loaded(pinned(yaml, before)).imports).toMatchObject({
      differences: [`1 model changed the announced end of the price: ${name}.`],
      priceEnds: new Map(),
    })
    const own = `models:\n  - { id: ${name.split('/')[1]}, context_tokens: 9, max_output_tokens: 9, lanes: [{ upstream: openai, model: x }] }\n`
    expect(loaded(pinned(yaml + own, lock)).imports?.priceEnds).toEqual(new Map())
    expect(problemsOf(pinned(yaml, lock.replace(priceUntil, 'soon')))).toMatchObject([
      { path: `models.${name}.price_until` },
    ])
  })

  it('yields to an entry of models, and to no other import', () => {
    const own =
      'models:\n  - { id: gpt-5, context_tokens: 9, max_output_tokens: 9, lanes: [{ upstream: openai, model: x }] }\n'
    const yaml = yamlOf(ONE, own)
    expect(loaded(pinned(yaml)).config.models).toMatchObject([{ id: 'gpt-5', contextTokens: 9 }])
    const twice = yamlOf(`${ONE}${ONE}`)
    expect(problemsOf(pinned(twice, lockOf(yamlOf(ONE))))).toEqual([
      {
        path: 'imports[1].from',
        message: expect.stringContaining('gpt-5 is imported twice'),
        cure: expect.any(String),
      },
    ])
  })

  it('names what it cannot find: the model, the dialect, the upstream', () => {
    const ofImport = (text: string) =>
      problemsOf({ yaml: yamlOf(`  - { ${text} }\n`) }).map(({ message, cure }) => `${message} ${cure}`)
    expect(ofImport('from: openai/nothing-*, upstream: openai')).toEqual([
      'matches no known model with a price See: millrace catalog --known openai',
    ])
    expect(ofImport('from: nobody/*, upstream: openai')[0]).toContain('Dialects: anthropic, google, openai')
    expect(
      problemsOf(pinned(yamlOf(ONE.replace('upstream: openai', 'upstream: opnai')), lockOf(yamlOf(ONE)))),
    ).toMatchObject([{ message: 'there is no upstream "opnai"', cure: 'Did you mean openai?' }])
  })

  it('refuses pins that cannot be read, at their line', () => {
    const lock = lockOf(yamlOf(ONE)).replace('"context_tokens":400000', '"context_tokens":"many"')
    const outcome = loadConfig(sourcesOf(pinned(yamlOf(ONE), lock)))
    expect(outcome).toMatchObject({
      kind: 'invalid',
      problems: [{ place: { origin: LOCK, line: 5 }, path: 'models.openai/gpt-5.context_tokens', cause: 'pin' }],
    })
  })

  it('needs an output limit where the catalogue has none, and takes it only there', () => {
    const yaml = yamlOf('  - { from: "openrouter/anthropic/claude-*", upstream: openai }\n')
    expect(problemsOf({ yaml })).toMatchObject([
      { cure: expect.stringContaining('Set max_output_tokens of the import') },
    ])
    const assumed = loaded(pinned(yaml.replace('openai }', 'openai, max_output_tokens: 9000 }'))).config.models
    expect([...new Set(assumed.map((model) => model.maxOutputTokens))]).toEqual([9000])
    const known = loaded(pinned(yamlOf(ONE.replace(' }', ', max_output_tokens: 9 }')))).config.models
    expect(known).toMatchObject([{ maxOutputTokens: 128_000 }])
  })

  it('accepts other inputs where the longest part is named', () => {
    const yaml = yamlOf(ONE.replace(' }', ', input_tokens_max: { image: 3000 } }'))
    expect(loaded(pinned(yaml)).config.models[0]).toMatchObject({
      inputs: ['text', 'image'],
      inputTokensMax: { image: 3000 },
    })
  })

  it('pins every known model with a price so that it can be read again', () => {
    for (const dialect of knownModels().providers.keys()) {
      const wanted = `from: "${dialect}/*", upstream: openai, max_output_tokens: 9000`
      const { imports, config } = loaded(pinned(yamlOf(`  - { ${wanted} }\n`)))
      expect(imports?.differences).toEqual([])
      expect(config.models.length).toBeGreaterThan(0)
    }
  })
})
