import { describe, expect, it } from 'vitest'
import { sourcesOf } from '../../test/fixtures/config/config.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { managedYaml } from '../admin/managed-yaml.ts'
import { MANAGED_LISTS, type ManagedEntry, type ManagedShape } from '../contract/managed.ts'
import { loadConfig } from './load-config.ts'

const YAML = `upstreams:
  - { id: demo, wire: demo }
models:
  - id: own
    context_tokens: 1000
    max_output_tokens: 100
    price: { input: "1", output: "2" }
    lanes: [{ upstream: demo, model: x }]
`

const load = (managed: readonly ManagedEntry[], environment: Record<string, string> = {}, yaml = YAML) =>
  loadConfig(sourcesOf({ yaml, environment }), { managed })

const model = (id: string, more: ManagedShape = {}): ManagedEntry => ({
  kind: 'model',
  name: id,
  entry: {
    ...{ id, context_tokens: 2000, max_output_tokens: 200, price: { input: '3', output: '4' } },
    lanes: [{ upstream: 'demo', model: 'y' }],
    ...more,
  },
})

const upstream = (id: string, more: ManagedShape = {}): ManagedEntry => ({
  kind: 'upstream',
  name: id,
  entry: { id, wire: 'chat', base_url: 'https://api.example.com/v1', ...more },
})

function loaded(...args: Parameters<typeof load>) {
  const outcome = load(...args)
  if (outcome.kind === 'invalid') throw new Error(JSON.stringify(outcome.problems))
  return outcome
}

function problems(managed: readonly ManagedEntry[], environment: Record<string, string> = {}) {
  const outcome = load(managed, environment)
  return outcome.kind === 'loaded' ? [] : outcome.problems
}

describe('managed entries', () => {
  it('are added to the lists of the file', () => {
    const { config } = loaded([upstream('acme'), model('fresh', { lanes: [{ upstream: 'acme', model: 'z' }] })])
    expect(config.upstreams.map(({ id }) => id)).toEqual(['demo', 'acme'])
    expect(config.models.map(({ id }) => id)).toEqual(['own', 'fresh'])
  })

  it('do not replace what the file has, and its places are known', () => {
    const { config, owners } = loaded([model('own', { context_tokens: 9000 })])
    expect(config.models).toMatchObject([{ id: 'own', contextTokens: 1000 }])
    expect([...owners]).toEqual([
      ['upstream demo', 'millrace.yaml:2:11'],
      ['model own', 'millrace.yaml:4:9'],
    ])
  })

  it('are checked like the file, and a problem names the entry and the key in it', () => {
    const found = problems([model('fresh', { context_tokens: 'many', lanes: [{ upstream: 'gone', model: 'z' }] })])
    expect(found.map(({ place, path }) => [place.origin, path])).toEqual([
      ['managed model fresh', 'context_tokens'],
      ['managed model fresh', 'lanes[0].upstream'],
    ])
  })

  it('read no variable and no file of the server', () => {
    const { config } = loaded([model('fresh', { description: `\${HOME} \${file:/etc/passwd}` })])
    expect(config.models[1]?.description).toBe(`\${HOME} \${file:/etc/passwd}`)
  })

  it('show no secret in a problem', () => {
    const found = problems([upstream('acme', { api_key: 'sk very secret', headers: { 'x-org': 'a\nb-secret' } })])
    expect(found).toHaveLength(2)
    expect(JSON.stringify(found)).not.toMatch(/secret/)
  })

  it.each([
    ['a list for an entry', { id: 'fresh', lanes: { upstream: 'demo' } }],
    ['a key that is not there', { id: 'fresh', constructor: 1 }],
    ['a number for an id', { id: 7 }],
    ['nothing', {}],
  ])('are refused with %s', (_, entry) => {
    expect(problems([{ kind: 'model', name: 'fresh', entry }]).length).toBeGreaterThan(0)
  })
})

const TEXTS = [
  'plain',
  `\${HOME}`,
  `$\${x`,
  'yes',
  '1e3',
  '2026-01-01',
  'a: b # c',
  '"quoted"',
  'ünïcode 日本',
  '- dash',
  '{x}',
  'two\nlines\n  # and a third\n',
  'ends\n\n\n',
  ' leads and ends ',
  'a\ttab\u2028and more\u0085',
  '---\nmodels: []\n...',
  'x\r\nmodels:\r\n',
  '| >',
  '*alias &anchor !tag',
]

function randomEntries(seed: number): ManagedEntry[] {
  const pick = randomFrom(seed)
  const one = <Item>(items: readonly Item[]): Item => items[pick(items.length)]!
  const ids = ['up-1', '9lives', 'b.c_d']
  const upstreams = ids.slice(0, 1 + pick(3)).map((id) =>
    upstream(id, {
      ...(pick(2) === 0 && { api_key: `sk-${pick(1e6)}` }),
      ...(pick(2) === 0 && { headers: { 'X-Org': one(['o1', `\${HOME}`]), 'x-more': 'm' } }),
      ...(pick(2) === 0 && { timeouts: { idle: '30s' } }),
    }),
  )
  const models = Array.from({ length: 1 + pick(4) }, (_, index) =>
    model(one(['gpt', 'vendor/m:7', 'null', '0x10', `\${ID}`]) + index, {
      ...(pick(2) === 0 && { description: one(TEXTS) }),
      ...(pick(2) === 0 && { efforts: ['low', 'high'].slice(pick(2)) }),
      ...(pick(2) === 0 && { bytes_per_token: 3.5 }),
      price: {
        ...{ input: `${pick(100)}.${pick(9)}`, output: String(pick(100)), per_request: '0.000000007' },
        tiers: pick(2) === 0 ? [] : [{ above_input_tokens: 100, input: '5', output: '6' }],
      },
      lanes: [{ upstream: one(upstreams).name, model: one(['m1', 'x/y', '123']), weight: 1 + pick(5) }],
    }),
  )
  const plans = Array.from(
    { length: pick(3) },
    (_, index): ManagedEntry => ({
      kind: 'plan',
      name: `plan-${index}`,
      entry: {
        id: `plan-${index}`,
        models: [one(models).name],
        windows: [
          { every: '5h', allowance: '2.50' },
          { every: one(['week', 'month']), allowance: '10' },
        ],
      },
    }),
  )
  return [...upstreams, ...models, ...plans]
}

describe('the export', () => {
  it('gives the same configuration when it is put into the file, with any entries', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const entries = randomEntries(seed)
      const environment: Record<string, string> = {}
      const exported = entries.map(({ kind, entry: { api_key, headers, ...entry } }) => {
        const variable = (secret: string) =>
          `${String(entry.id)}_${secret}`
            .toUpperCase()
            .replace(/[^A-Z0-9]+/g, '_')
            .replace(/^(?=\d)/, '_')
        const list = (Object.keys(MANAGED_LISTS) as (keyof typeof MANAGED_LISTS)[]).find(
          (each) => MANAGED_LISTS[each] === kind,
        )!
        if (api_key !== undefined) environment[variable('api_key')] = String(api_key)
        const named = Object.entries((headers ?? {}) as Record<string, string>)
        for (const [name, value] of named) environment[variable(`header_${name}`)] = value
        const secrets = [...(api_key === undefined ? [] : ['api_key']), ...named.map(([name]) => `headers.${name}`)]
        return { list, entry, secrets, announced: [] }
      })
      const yaml = managedYaml(exported)
      expect(yaml).not.toMatch(/sk-\d/)
      const include = `include: [managed.yaml]\n${YAML}`
      const fromFile = loadConfig(
        sourcesOf({ yaml: include, files: { '/srv/managed.yaml': yaml }, environment }),
        // The managed ones are still there, and the file decides.
        { managed: entries },
      )
      if (fromFile.kind === 'invalid') throw new Error(`seed ${seed}: ${JSON.stringify(fromFile.problems)}\n${yaml}`)
      expect(plain(fromFile.config), `seed ${seed}`).toEqual(plain(loaded(entries).config))
      expect(fromFile.owners.get(`model ${entries.find(({ kind }) => kind === 'model')!.name}`)).toMatch(/managed.yaml/)
    }
  })
})

describe('the variables of an export', () => {
  const acme = (id: string, ...secrets: string[]) => ({
    ...{ list: 'upstreams' as const, entry: upstream(id).entry, secrets, announced: [] },
  })

  it('are one for each secret, so that no provider is sent the key of another', () => {
    const yaml = managedYaml([acme('acme-eu', 'api_key', 'headers.x-a', 'headers.x_a'), acme('acme_eu', 'api_key')])
    const names = [...yaml.matchAll(/: \$\{(\w+)\}/g)].map(([, name]) => name)
    expect(names).toHaveLength(4)
    expect(new Set(names).size).toBe(4)
  })

  it('are none of something else', () => {
    const yaml = managedYaml([
      acme('millrace-secret', 'headers.key'),
      acme('aws', 'headers.secret-access-key'),
      acme('millrace_server_', 'api_key'),
    ])
    expect(yaml).not.toMatch(/MILLRACE_SECRET_KEY|AWS_SECRET_ACCESS_KEY|__/)
  })
})

/** With secrets revealed, so that they are compared too. */
const plain = ({ upstreams, ...config }: ReturnType<typeof loaded>['config']) => ({
  ...config,
  upstreams: upstreams.map(({ apiKey, headers, ...rest }) => ({
    ...rest,
    key: apiKey?.reveal(),
    headers: [...headers].map(([name, value]) => [name, value.reveal()]),
  })),
})
