// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${…} is the file's own way of naming a variable.
import { describe, expect, test } from 'vitest'
import { DEMO_YAML, modelYaml, placesOf, pricedYaml, problemsOf } from '../../test/fixtures/config/config.ts'
import { formatProblem, type Place } from './problem.ts'

/** The text at the place of a problem, so that the cases name text instead of columns. */
const textAt = (yaml: string, { line = 0, column = 0 }: Place) => yaml.split('\n')[line - 1]?.slice(column - 1) ?? ''

describe('an invalid configuration is reported with its place', () => {
  test.each([
    ['an unknown section', 'sever: {}\n', 'sever', 'sever:', 'there is no such key', 'Did you mean server?'],
    ['an unknown key', 'server: { prot: 1 }\n', 'server.prot', 'prot:', 'there is no such key', 'Did you mean port?'],
    [
      'a key in camel case',
      'bounds: { bodyBytes: 1 }',
      'bounds.bodyBytes',
      'bodyBytes:',
      'no such key',
      'Did you mean body_bytes?',
    ],
    [
      'a merge key',
      'server: { <<: { port: 1 } }',
      'server',
      '<<:',
      'merge keys are not supported',
      'Write the keys out',
    ],
    [
      'a key written twice',
      'drain: {}\nserver: {}\ndrain: {}\n',
      'drain',
      'drain:',
      'written twice: first at line 1',
      'Keep one',
    ],
    ['YAML that does not parse', 'server: host: x\n', '', 'host: x', 'YAML:', 'Fix the syntax'],
    ['YAML with tabs', 'server:\n\tport: 1\n', '', '\tport: 1', 'YAML:', 'Fix the syntax'],
    ['two documents', 'server: {}\n---\nserver: {}\n', '', '---', 'YAML:', 'Fix the syntax'],
    [
      'a tag',
      'server: { port: !!binary aGk= }',
      'server.port',
      'aGk=',
      'a value of this type is not supported',
      'Write text',
    ],
    ['a list for a map', 'server: [1]', 'server', '[1', 'found a list, expected a map', 'Write a map'],
    ['text for the whole', 'hello', '', 'hello', 'found "hello", expected a map', 'Write a map'],
    ['a port out of range', 'server: { port: 99999 }', 'server.port', '99999', 'found 99999', 'from 0 to 65535'],
    ['a port with a fraction', 'server: { port: 4600.5 }', 'server.port', '4600.5', 'found 4600.5', 'from 0 to 65535'],
    [
      'a duration without unit',
      'drain: { timeout: 30 }',
      'drain.timeout',
      '30',
      'found 30',
      'Name the unit: 30s, 30ms or 30m.',
    ],
    [
      'a duration with an unknown unit',
      'drain: { timeout: 3w }',
      'drain.timeout',
      '3w',
      'found "3w"',
      'a duration from 0s to 1h',
    ],
    ['a size too small', 'bounds: { body_bytes: 12 }', 'bounds.body_bytes', '12', 'found 12', 'from 1KiB to 256MiB'],
    [
      'a value outside its list',
      'hosted_tools: refuse',
      'hosted_tools',
      'refuse',
      'found "refuse"',
      'one of ignore, reject',
    ],
    [
      'an origin with a path',
      'server: { allowed_origins: ["https://a.b/"] }',
      'server.allowed_origins[0]',
      '"https://a.b/"',
      'https://a.b/',
      'no path',
    ],
    [
      'a public address with /v1',
      'server: { public_url: "https://a.b/v1" }',
      'server.public_url',
      '"https://a.b/v1"',
      'expected an address',
      'without /v1',
    ],
    [
      'a public address below a path of ours',
      'server: { public_url: "https://a.b/x/console/" }',
      'server.public_url',
      '"https://a.b/x/console/"',
      'expected an address',
      'without /v1, /admin, /scim, /console or /docs in its path',
    ],
    [
      'two upstreams of one id',
      `upstreams:\n  - { id: demo, wire: demo }\n  - { id: demo, wire: demo }\n`,
      'upstreams[1].id',
      'demo',
      'this id is taken: first at line 2, column 11',
      'Rename',
    ],
    [
      'two models of one id',
      `${modelYaml('efforts: []')}  - { id: m, context_tokens: 1, max_output_tokens: 1, lanes: [{ upstream: demo, model: x }] }`,
      'models[1].id',
      'm',
      'this id is taken: first at line 3, column 11',
      'Rename',
    ],
    [
      'an address for the demo',
      'upstreams: [{ id: d, wire: demo, base_url: "http://a/v1" }]',
      'upstreams[0].base_url',
      '"http://a/v1"',
      'runs inside this process',
      'Leave',
    ],
    [
      'a lane to an unknown upstream',
      modelYaml('efforts: []', 'lanes: [{ upstream: dmo, model: x }]'),
      'models[0].lanes[0].upstream',
      'dmo',
      'there is no upstream "dmo"',
      'Did you mean demo?',
    ],
    [
      'a step down to an unknown model',
      modelYaml('step_down: { to: n }'),
      'models[0].step_down.to',
      'n',
      'there is no model "n"',
      'm',
    ],
    [
      'a step down to the model itself',
      modelYaml('step_down: { to: m }'),
      'models[0].step_down.to',
      'm',
      'a model cannot step down to itself',
      'Name a cheaper model',
    ],
    [
      'a lane twice',
      modelYaml('efforts: []', 'lanes: [{ upstream: demo, model: x }, { upstream: demo, model: x }]'),
      'models[0].lanes[1].upstream',
      'demo',
      '"demo/x": this lane is listed twice',
      'Rename or remove',
    ],
    [
      'no provider',
      modelYaml('efforts: []', 'lanes: []'),
      'models[0].lanes',
      '[',
      'at least one lane',
      'at least one lane',
    ],
    [
      'a missing key',
      `${DEMO_YAML}models: [{ id: m, max_output_tokens: 1, lanes: [{ upstream: demo, model: x }] }]`,
      'models[0].context_tokens',
      '{',
      'missing, expected a whole number',
      'Write',
    ],
    [
      'a price as a number',
      pricedYaml('input: 3.00, output: "1"'),
      'models[0].price.input',
      '3.00',
      'found 3.00, expected a price in USD per million tokens',
      'Quote it: "3.00".',
    ],
    [
      'a price with a sign',
      pricedYaml('input: "-3", output: "1"'),
      'models[0].price.input',
      '"-3"',
      'found "-3"',
      'no sign',
    ],
    [
      'a price with a comma',
      pricedYaml('input: "3,00", output: "1"'),
      'models[0].price.input',
      '"3,00"',
      'found "3,00"',
      'no comma',
    ],
    [
      'a price per token',
      pricedYaml('input: "0.000003", output: "1"'),
      'models[0].price.input',
      '"0.000003"',
      'found "0.000003"',
      'USD per million tokens: "3.00"',
    ],
    [
      'a price in another unit',
      pricedYaml('input: "3000000", output: "1"'),
      'models[0].price.input',
      '"3000000"',
      'found "3000000"',
      'USD per million tokens',
    ],
    [
      'half a price',
      pricedYaml('input: "3"'),
      'models[0].price.output',
      '{',
      'missing, expected a price',
      'Free is "0"',
    ],
    [
      'a cache dearer than input',
      pricedYaml('input: "1", cached_input: "2", output: "1"'),
      'models[0].price.cached_input',
      '"2"',
      'cached input costs more than input',
      'USD per million tokens',
    ],
    [
      'two tiers at one threshold',
      pricedYaml(
        'input: "1", output: "1", tiers: [{ above_input_tokens: 9, input: "1", output: "1" }, { above_input_tokens: 9, input: "1", output: "1" }]',
      ),
      'models[0].price.tiers[1].above_input_tokens',
      '9',
      'two tiers have the same threshold',
      'Keep one',
    ],
    [
      'an output longer than the context',
      modelYaml('bytes_per_token: 4').replace('100,', '2000,'),
      'models[0].max_output_tokens',
      '2000',
      'longer than the context',
      'Lower it',
    ],
    [
      'an input without a token limit',
      modelYaml('inputs: [text, image]'),
      'models[0].inputs',
      '[',
      'the input image has no token limit',
      'Add input_tokens_max: { image: … }',
    ],
    [
      'an effort twice',
      modelYaml('efforts: [low, LOW]'),
      'models[0].efforts[1]',
      'LOW',
      'low is listed twice',
      'Remove one',
    ],
    [
      'an effort that is not a word',
      modelYaml('efforts: ["a-b"]'),
      'models[0].efforts[0]',
      '"a-b"',
      'found "a-b"',
      'xhigh or max',
    ],
    [
      'a variant with the id of another model',
      `${modelYaml('efforts: [high]')}  - { id: m-high, context_tokens: 1, max_output_tokens: 1, lanes: [{ upstream: demo, model: x }] }`,
      'models[0].efforts[0]',
      'high',
      'also listed as m-high, which is the id of another model',
      'rename models[1].id',
    ],
    [
      'a memory budget smaller than the largest body',
      'overload: { memory_budget: 1MiB }',
      'overload.memory_budget',
      '1MiB',
      'as large as bounds.body_bytes would never fit',
      'or lower bounds.body_bytes',
    ],
    ['a burst without unit', 'limits: { key: { burst: 10 } }', 'limits.key.burst', '10', 'found 10', '10s'],
    [
      'workers on SQLite',
      'server: { workers: 2 }',
      'server.workers',
      '2',
      '2 workers need PostgreSQL',
      'storage.database to postgres://',
    ],
    [
      'a short secret',
      'key_ring: { secret_key: short }',
      'key_ring.secret_key',
      'short',
      'found a text of 5 characters',
      'openssl rand',
    ],
    [
      'a variable that is not set',
      'server: { host: "${NOWHERE}" }',
      'server.host',
      '"${NOWHERE}"',
      'environment variable NOWHERE is not set',
      '${NOWHERE:-}',
    ],
    [
      'a file that is not there',
      'key_ring: { secret_key: "${file:/run/x}" }',
      'key_ring.secret_key',
      '"${file:/run/x}"',
      'there is no file /run/x',
      'Create it',
    ],
    [
      'a malformed reference',
      'server: { host: "${a b}" }',
      'server.host',
      '"${a b}"',
      'is not a reference',
      '${NAME:-default}',
    ],
  ])('%s', (_, yaml, path, pointedAt, message, cure) => {
    const problems = problemsOf({ yaml })
    expect(problems.map((problem) => problem.path)).toEqual([path])
    expect(textAt(yaml, problems[0]!.place).startsWith(pointedAt)).toBe(true)
    expect(problems[0]?.message).toContain(message)
    expect(problems[0]?.cure).toContain(cure)
  })

  test.each([
    ['the file itself', {}, '/srv/millrace.yaml', '/srv/millrace.yaml '],
    ['a secret in it', { yaml: 'key_ring: { secret_key: "${file:/run/x}" }' }, '/run/x', '1:25 key_ring.secret_key'],
    [
      'a secret beside it',
      { environment: { MILLRACE_SECRET_KEY_FILE: '/run/x' } },
      '/run/x',
      'MILLRACE_SECRET_KEY_FILE key_ring.secret_key',
    ],
  ])('%s that cannot be read', (_, world, unreadable, place) => {
    expect(placesOf({ ...world, unreadable })).toEqual([place])
    expect(problemsOf({ ...world, unreadable })[0]?.message).toContain('cannot be read: permission denied')
  })

  test.each([
    ['https://api.example.com', 'Did you mean https://api.example.com/v1?'],
    ['https://api.example.com/v1/chat/completions', 'remove what follows the version'],
    ['https://u:p@api.example.com/v1', 'Move the credential to api_key'],
    ['https://api.example.com/v1?x=1', 'Remove everything from ?'],
    ['ftp://api.example.com/v1', 'Only http and https'],
    ['api.example.com/v1', 'The scheme is missing. Did you mean https://api.example.com/v1?'],
    ['localhost:11434/v1', 'The scheme is missing'],
  ])('a base_url such as %s', (url, cure) => {
    const yaml = `upstreams: [{ id: a, wire: chat, base_url: "${url}" }]`
    const problem = problemsOf({ yaml }).find(({ path }) => path === 'upstreams[0].base_url')
    expect(problem?.cure).toContain(cure)
    expect(problem?.message).not.toContain('u:p')
  })

  test.each([
    ['wire: openai', 'Did you mean chat?'],
    ['wire: respones', 'Did you mean responses?'],
    ['wire: morse', 'Write one of chat, responses, anthropic, gemini, demo.'],
    ['wire: demo, dialect: opnai', 'Did you mean openai?'],
  ])('%s', (written, cure) => {
    expect(problemsOf({ yaml: `upstreams: [{ id: a, ${written} }]` })[0]?.cure).toBe(cure)
  })

  test.each(['https://a.b/v1', 'https://a.b/openai/v1/', 'https://a.b/v1beta/openai', 'https://1.1.1.1/v1'])(
    'a base_url such as %s is fine',
    (url) => {
      const yaml = `upstreams: [{ id: a, wire: chat, base_url: "${url}" }]`
      expect(placesOf({ yaml })).toEqual([])
    },
  )

  test('all problems are reported at once, in the order of the file', () => {
    const yaml = `server:
  port: x
upstreams: [{ id: demo, wire: demo, colour: red }]
models:
  - id: m
    context_tokens: 1000
    max_output_tokens: "many"
    price: { input: 3, output: "1" }
    lanes: [{ upstream: missing, model: x }]
plans:
  - { id: p, models: ["zz*"], windows: [{ every: 5h, allowance: 12 }] }
`
    expect(placesOf({ yaml, environment: { MILLRACE_SERVER__PROT: '1' } })).toEqual([
      'MILLRACE_SERVER__PROT server.prot',
      '2:9 server.port',
      '3:37 upstreams[0].colour',
      '7:24 models[0].max_output_tokens',
      '8:21 models[0].price.input',
      '9:25 models[0].lanes[0].upstream',
      '11:23 plans[0].models[0]',
      '11:65 plans[0].windows[0].allowance',
    ])
  })

  test('a message shows neither the value of a reference nor a credential', () => {
    const yaml = `server: { port: "\${SECRET}" }\nupstreams: [{ id: d, wire: demo, api_key: [sk-1] }]\nstorage: { database: "pg://u:sk-2@h" }`
    const world = { yaml, environment: { SECRET: 'sk-3' } }
    const printed = problemsOf(world)
      .flatMap((problem) => formatProblem(problem, '/srv'))
      .join('\n')
    expect(printed).toContain('found "${SECRET}"')
    expect(printed).not.toContain('sk-')
  })

  test('is printed as place, path and message, with the fix on the next line', () => {
    const [problem] = problemsOf({ yaml: 'drain: { timeout: 30 }' })
    expect(formatProblem(problem!, '/srv')).toEqual([
      'millrace.yaml:1:19  drain.timeout: found 30, expected a duration from 0s to 1h, such as 100ms, 30s, 5m, 12h or 3d',
      '                    Name the unit: 30s, 30ms or 30m.',
    ])
    expect(formatProblem(problem!, '/elsewhere')[0]).toMatch(/^\/srv\/millrace.yaml:1:19 /)
  })
})
