import { expect, test } from 'vitest'
import { sourcesOf } from '../../test/fixtures/config/config.ts'
import { checkConfig } from './check-config.ts'

test('a good file is described: upstreams, ids with their variants, prices', () => {
  const check = checkConfig(sourcesOf({}), 0)
  expect(check.ok).toBe(true)
  expect(check.lines).toEqual([
    'no file (defaults): good',
    '  data       /home/op/.local/share/millrace',
    '  upstreams  demo (demo)',
    '  models     2',
    '    demo, demo-low, demo-medium, demo-high  wallet and builder  on demo/demo  0.10 in, 0.40 out (USD per million tokens)',
    '    demo-tools, demo-tools-low, demo-tools-medium, demo-tools-high  wallet and builder  on demo/demo-tools  0.10 in, 0.40 out (USD per million tokens)',
  ])
  expect(check.json).toMatchObject({
    ok: true,
    origin: { kind: 'defaults' },
    models: [
      {
        id: 'demo',
        ids: ['demo', 'demo-low', 'demo-medium', 'demo-high'],
        price: { input: '0.10', per_request: '0.00' },
      },
      {},
    ],
  })
  JSON.stringify(check.json)
})

const MODELS = `upstreams: [{ id: demo, wire: demo }]
models:
  - { id: quick, efforts: [low], context_tokens: 9, max_output_tokens: 9, price: { input: "1", output: "1" }, lanes: [{ upstream: demo, model: x }] }
  - { id: quicker, kinds: [wallet], context_tokens: 9, max_output_tokens: 9, price: { input: "1", output: "1" }, lanes: [{ upstream: demo, model: x }] }
`

test('a plan is described with what its patterns open to builder keys', () => {
  const yaml = `${MODELS}plans:
  - { id: pro, models: ["quick*"], windows: [{ every: 168h, allowance: "12" }, { every: month, allowance: "60.5" }] }
  - { id: hollow, models: [quicker], windows: [{ every: week, allowance: "1" }] }
`
  const check = checkConfig(sourcesOf({ yaml }), 0)
  expect(check.lines.slice(6, 9)).toEqual([
    '  plans      2',
    '    pro  12.00 USD every 7d, 60.50 USD every month  opens quick',
    '    hollow  1.00 USD every week  opens no model: none of its models is for builder keys',
  ])
  expect(check.json.plans).toEqual([
    {
      id: 'pro',
      models: ['quick*'],
      opens: ['quick'],
      windows: [
        { name: '7d', allowance: '12.00' },
        { name: 'month', allowance: '60.50' },
      ],
    },
    { id: 'hollow', models: ['quicker'], opens: [], windows: [{ name: 'week', allowance: '1.00' }] },
  ])
})

test('a plan with two windows of one length, however they are written, is refused at the second', () => {
  const windows = '[{ every: 7d, allowance: "1" }, { every: week, allowance: "1" }, { every: 168h, allowance: "2" }]'
  const check = checkConfig(sourcesOf({ yaml: `${MODELS}plans: [{ id: p, models: [quick], windows: ${windows} }]` }), 0)
  expect(check.lines).toEqual([
    'millrace.yaml:5:118  plans[0].windows[2].every: "7d": this plan has a window of that length: first at line 5, column 54',
    '                     Rename or remove one of the two.',
    '1 problem in millrace.yaml.',
  ])
})

test('a missing file is reported with its path and how to write it', () => {
  const check = checkConfig(sourcesOf({ flags: { config: '/etc/my gateway.yaml' } }), 0)
  expect(check.ok).toBe(false)
  expect(check.lines).toEqual([
    '/etc/my gateway.yaml  there is no such file (named by --config)',
    "                      Name an existing file, or create it:  millrace init '/etc/my gateway.yaml'",
    '1 problem in /etc/my gateway.yaml.',
  ])
  expect(check.json).toMatchObject({ origin: { kind: 'file', path: '/etc/my gateway.yaml', via: '--config' } })
})

test('without a file only flags and variables can be wrong', () => {
  const check = checkConfig(sourcesOf({ environment: { MILLRACE_SERVER__PROT: '1' } }), 0)
  expect(check.lines.at(-1)).toBe('1 problem in flags and variables; there is no file.')
})

test('an invalid file is reported line by line, and as JSON', () => {
  const check = checkConfig(sourcesOf({ yaml: 'server: { prot: 1 }\ndrain: { timeout: 30 }' }), 0)
  expect(check.ok).toBe(false)
  expect(check.lines).toEqual([
    'millrace.yaml:1:11  server.prot: there is no such key',
    '                    Did you mean port?',
    'millrace.yaml:2:19  drain.timeout: found 30, expected a duration from 0s to 1h, such as 100ms, 30s, 5m, 12h or 3d',
    '                    Name the unit: 30s, 30ms or 30m.',
    '2 problems in millrace.yaml.',
  ])
  expect(check.json).toMatchObject({
    ok: false,
    problems: [
      { file: '/srv/millrace.yaml', line: 1, column: 11, path: 'server.prot', cure: 'Did you mean port?' },
      {},
    ],
  })
})

const warningsOf = (yaml: string) => checkConfig(sourcesOf({ yaml }), 0).json.warnings

test('what keeps a good file from being of use is warned of', () => {
  expect(warningsOf('# nothing\n')).toEqual([expect.stringMatching(/^The file has no upstream and no model/)])
  const lane = 'lanes: [{ upstream: far, model: mine }]'
  const upstream = 'upstreams: [{ id: far, wire: chat, base_url: "https://far.example/v1" }]\nmodels:\n'
  const model = (more: string) => `${upstream}  - { id: mine, max_output_tokens: 9, ${more}, ${lane} }\n`
  const price = 'price: { input: "1", output: "1" }'
  expect(warningsOf(model(`context_tokens: 8192, ${price}`))).toEqual(['The upstream far has no api_key.'])
  expect(warningsOf(model('context_tokens: 1000'))).toEqual([
    expect.stringMatching(/^mine has no price, so no key can call it\./),
    'mine: context_tokens is 1000, which looks too small: longer input is refused.',
    'The upstream far has no api_key.',
  ])
  const { json } = checkConfig(sourcesOf({ yaml: model(`context_tokens: 8192, ${price}`) }), 0)
  expect(json.notes).toEqual([expect.stringMatching(/^context_tokens of mine cannot be checked/)])
})
