import { expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

const trace = {
  id: 'req_1',
  account: { id: 'acct_1', email: 'a@b.c' },
  key: { id: 'key_1', name: 'ci' },
  kind: 'wallet',
  model: 'demo',
  state: 'settled',
  outcome: 'completed',
  opened_at: 't0',
  closed_at: 't1',
  first_byte_ms: 3,
  total_ms: 9,
  lane: 'demo/demo',
  tokens: { uncached_input: 5, cached_input: 2, cache_write: 0, output: 4, reasoning: 1, estimated: true },
  compaction: { tokens_before: 48_210, tokens_after: 2034 },
  price_version: 2,
  price: { input: '1.00', cached_input: '0.10', cache_write: '1.00', output: '5.00', per_request: '0.00' },
  paid_by: {
    kind: 'plan',
    plan: 'pro',
    windows: [{ name: '5h', start: 't0', end: 't2' }],
    caps: [{ name: 'day', start: 't0', end: 't2' }],
  },
  tier: 0,
  output_cap: 10,
  hold: '0.01',
  cost: '0.001',
  charge: '0.001',
  shortfall: '0.00',
  attempts: [{ lane: 'demo/demo', outcome: 'completed', status: 200, ms: 8 }],
}

it('shows a finished request', async () => {
  const { emitted, run } = commandLine({ operations: { 'requests.trace': done(trace) } })
  expect(await run('trace req_1')).toBe(0)
  expect(emitted.out).toContain('7 in (2 from the cache, 0 written to it), 4 out (1 of them reasoning), estimated')
  expect(emitted.out).toMatch(/^compacted +48,210 → 2,034 tokens$/m)
  expect(emitted.out).toContain('0.001 USD')
  expect(emitted.out).not.toContain('shortfall')
  expect(emitted.out).toContain('1.00 in, 0.10 cached, 1.00 written, 5.00 out (version 2)')
  expect(emitted.out).toContain("plan pro, windows 5h from t0; counted against the key's day cap")
  expect(emitted.out).toContain('attempt    outcome    status  ms')
  const other = commandLine({ operations: { 'requests.trace': done({ ...trace, compaction: null }) } })
  await other.run('trace req_1')
  expect(other.emitted.out).not.toContain('compacted')
})

it('shows what is known of a running request', async () => {
  const running = {
    ...trace,
    ...{ state: 'held', outcome: null, closed_at: null, first_byte_ms: null, total_ms: null, lane: null, tokens: null },
    ...{ compaction: null, tier: null, cost: null, charge: null, shortfall: null, attempts: [] },
    paid_by: { kind: 'wallet', windows: [], caps: [] },
  }
  const { emitted, run } = commandLine({ operations: { 'requests.trace': done(running) } })
  expect(await run('trace req_1')).toBe(0)
  const names = emitted.out.split('\n').map((line) => line.split(/ {2,}/)[0])
  expect(names).toEqual(['request', 'account', 'key', 'model', 'state', 'opened', 'price', 'paid by', 'held', ''])
  expect(emitted.out).toMatch(/^state +held$/m)
  expect(emitted.out).toMatch(/^paid by +the wallet$/m)
})

it('shows the causes of a high cost: a tier, a price per request, a lost cache, a shortfall', async () => {
  const dear = {
    ...trace,
    ...{ tier: 200_000, price: { ...trace.price, per_request: '0.01' }, shortfall: '0.25' },
    cache_lost: { tokens: 10_412, cost: '0.023427' },
    attempts: [{ lane: 'far/one', outcome: 'connect', status: null, ms: 5000 }, ...trace.attempts],
  }
  const { emitted, run } = commandLine({ operations: { 'requests.trace': done(dear) } })
  await run('trace req_1')
  expect(emitted.out).toContain('5.00 out, 0.01 per request (version 2, tier above 200000 input tokens)')
  expect(emitted.out).toMatch(/^cache lost +10,412 tokens on another lane, 0\.023427 USD$/m)
  expect(emitted.out).toMatch(/^shortfall +0\.25 USD$/m)
  expect(emitted.out).toMatch(/^far\/one +connect +5000$/m)
})
