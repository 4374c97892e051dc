import { expect, test } from 'vitest'
import { checkConfig } from './check-config.ts'
import { sourcesOf } from './config.fixture.ts'

test('a good file is described: upstreams, ids with their variants, prices', () => {
  const check = checkConfig(sourcesOf({}))
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

test('a bad file is told line by line, and as data', () => {
  const check = checkConfig(sourcesOf({ yaml: 'server: { prot: 1 }\ndrain: { timeout: 30 }' }))
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
