import { describe, expect, it } from 'vitest'
import { commandLine, done } from '../../test/fixtures/cli/run-cli.ts'

const line = (id: string) =>
  `${JSON.stringify({ level: 'info', time: '2026-11-27T12:00:00.000Z', msg: 'request', request_id: id, status: 200, method: 'GET', path: '/v1/models' })}\n`
const lines = (next: string, ...ids: string[]) => ({ lines: ids.map(line), next, lost: 0, more: false })

describe('logs', () => {
  it('needs --follow, and says where older lines are', async () => {
    const { run, emitted, asked } = commandLine()
    expect(await run('logs')).toBe(2)
    expect(emitted.err).toContain('standard output')
    expect(asked).toEqual([])
  })

  it('follows every worker from its own place, until the server stops', async () => {
    const each = [
      done([{ worker: 1, value: lines('1.0') }]),
      done([
        { worker: 1, value: lines('1.1', 'req_a') },
        { worker: 2, value: { ...lines('2.5', 'req_b'), lost: 3 } },
      ]),
    ]
    const { run, emitted, asked } = commandLine({ each })
    expect(await run('logs --follow --account a@b.c --errors')).toBe(3)
    expect(emitted.out).toMatch(/200 GET \/v1\/models.*req_a\n.*req_b\n$/)
    expect(emitted.err).toMatch(/3 lines were not read in time[\s\S]*The server has stopped/)
    const filter = { account: 'a@b.c', errors: true }
    expect(asked.map(({ args }) => args)).toEqual([filter, { ...filter, after: '1.0' }, { ...filter, after: '1.1' }])
  })

  it('prints the lines themselves with --json', async () => {
    const { run, emitted } = commandLine({ each: [done([{ worker: 1, value: lines('1.1', 'req_a') }])] })
    await run('logs --follow --json')
    expect(emitted.out.startsWith(line('req_a'))).toBe(true)
  })
})

const metrics = (times: number) => `# HELP millrace_turns_total Turns.
millrace_http_requests_total{endpoint="/v1/chat/completions",status="200"} ${40 * times}
millrace_http_requests_total{endpoint="/v1/chat/completions",status="429"} ${4 * times}
millrace_turns_total{model="a \\"b\\"",outcome="completed"} ${30 * times}
millrace_turns_total{model="a \\"b\\"",outcome="upstream_failed"} ${10 * times}
millrace_tokens_total{model="a \\"b\\"",class="uncached_input"} ${100 * times}
millrace_tokens_total{model="a \\"b\\"",class="cached_input"} ${20 * times}
millrace_tokens_total{model="a \\"b\\"",class="output"} ${60 * times}
millrace_lane_attempts_total{lane="demo/x",outcome="finished"} ${40 * times}
millrace_lanes_aside{lane="far/y",reason="failing"} 1
millrace_turns_running 3
process_cpu_seconds_total 1
`

describe('top', () => {
  const look = (times: number, atMs: number, workers = 1) =>
    done(
      Array.from({ length: workers }, (_, index) => ({
        worker: index + 1,
        value: { text: metrics(times), at_ms: atMs },
      })),
    )

  it('shows what happened per second between two looks, by model and lane', async () => {
    const { run, emitted } = commandLine({ each: [look(1, 1000), look(2, 3000)] })
    expect(await run('top --once --json')).toBe(0)
    expect(JSON.parse(emitted.out)).toMatchObject({
      ...{ seconds: 2, running: 3, requests: 22, refused: 2, failed: 0, input_tokens: 60, output_tokens: 30 },
      models: [{ model: 'a "b"', turns: 20, failed: 5, input_tokens: 60, output_tokens: 30 }],
      lanes: [
        { lane: 'demo/x', attempts: 20, failed: 0, circuit_open: null },
        { lane: 'far/y', attempts: 0, failed: 0, circuit_open: 'failing' },
      ],
    })
  })

  it('adds several workers up, and goes on until the server stops', async () => {
    const { run, emitted } = commandLine({ each: [look(1, 0, 2), look(2, 1000, 2), look(2, 2000, 2)] })
    expect(await run('top')).toBe(3)
    expect(emitted.out).toMatch(
      /6 running[\s\S]*88 requests, 8 refused[\s\S]*open: failing[\s\S]*per second\s+0 requests/,
    )
    expect(emitted.err).toContain('No server runs.')
  })

  it('takes nothing for a rate when a worker was started again', async () => {
    const { run, emitted } = commandLine({ each: [look(5, 0), look(1, 1000)] })
    await run('top --once --json')
    expect(JSON.parse(emitted.out)).toMatchObject({ requests: 0, output_tokens: 0 })
  })

  it('goes on measuring the other workers when one was started again, whose clock starts again too', async () => {
    const two = (first: { times: number; atMs: number }, second: { times: number; atMs: number }) =>
      done(
        [first, second].map(({ times, atMs }, index) => ({
          worker: index + 1,
          value: { text: metrics(times), at_ms: atMs },
        })),
      )
    const each = [
      two({ times: 5, atMs: 9000 }, { times: 1, atMs: 100 }),
      two({ times: 1, atMs: 50 }, { times: 2, atMs: 2100 }),
    ]
    const { run, emitted } = commandLine({ each })
    await run('top --once --json')
    expect(JSON.parse(emitted.out)).toMatchObject({ seconds: 2, running: 6, requests: 22, output_tokens: 30 })
  })

  it.each(['0', '61', '1.5', 'x'])('refuses an interval of %s', async (seconds) => {
    expect(await commandLine().run(`top --interval ${seconds}`)).toBe(2)
  })
})

describe('usage', () => {
  const used = {
    requests: 3,
    failed: 1,
    uncached_input: 10,
    cached_input: 5,
    cache_write: 2,
    output: 7,
    reasoning: 0,
    wallet: '0.01',
    plan: '0',
  }

  it('lists the accounts, and names the next page with its range', async () => {
    const operations = { 'usage.accounts': done({ items: [{ account: 'acct_a', email: 'a@b.c', used }], next: 'x' }) }
    const { run, emitted, asked } = commandLine({ operations })
    expect(await run('usage --from 2027-01-01')).toBe(0)
    expect(emitted.out).toMatch(/a@b\.c +3 +1 +17 +5 +7 +0\.01 +0/)
    expect(emitted.err).toContain('millrace usage --from 2027-01-01 --after x')
    expect(asked[0]!.args).toEqual({ from: '2027-01-01', limit: 50 })
  })

  it('shows the parts of one account with their sum', async () => {
    const report = {
      from: '2027-01-01T00:00:00.000Z',
      to: '2027-02-01T00:00:00.000Z',
      total: used,
      table: [{ id: 'm', name: 'm', used }],
    }
    const { run, emitted, asked } = commandLine({ operations: { 'usage.report': done(report) } })
    expect(await run('usage a@b.c --by key --kind wallet')).toBe(0)
    expect(emitted.out).toMatch(/^key[\s\S]*\nm +3[\s\S]*\ntotal +3/)
    expect(asked[0]!.args).toEqual({ account: 'a@b.c', by: 'key', kind: 'wallet' })
  })

  it('prints CSV as it comes', async () => {
    const { run, emitted } = commandLine({ operations: { 'usage.export': done('begins_at,model\n') } })
    expect(await run('usage a@b.c --csv')).toBe(0)
    expect(emitted.out).toBe('begins_at,model\n')
  })

  it.each(['usage --csv', 'usage --by key', 'usage a --csv --json'])('refuses %s', async (line) => {
    const { run, asked } = commandLine()
    expect(await run(line)).toBe(2)
    expect(asked).toEqual([])
  })
})
