import { expect, it } from 'vitest'
import { createMetrics } from './metrics.ts'

const usage = { uncachedInput: 9, cachedInput: 4, cacheWrite: 0, output: 24, reasoning: 3 }

it('turns and requests show up in their series', async () => {
  const metrics = createMetrics()
  metrics.requestEnded('POST /v1/chat/completions', 200)
  metrics.requestEnded('POST /v1/chat/completions', 200)
  const turn = {
    model: 'demo',
    outcome: 'completed',
    usage,
    charge: 12_300n,
    shortfall: 0n,
    firstByteMs: 31,
    totalMs: 412,
    attempts: [
      { lane: 'a/m', outcome: 'throttled', ms: 30 },
      { lane: 'b/m', outcome: 'finished', ms: 380 },
    ],
    inputEstimateError: 0.04,
    laneWork: { usage: { ...usage, output: 25 }, cost: 11_000n, firstByteMs: 21 },
  }
  metrics.turnEnded(turn)
  metrics.turnEnded({ model: undefined, outcome: 'refused', totalMs: 1 })
  metrics.batchCommitted({ operations: 3, seconds: 0.0015 })
  metrics.holdsRecovered(2)
  const { contentType, body } = await metrics.render()
  expect(contentType).toMatch(/^text\/plain; version=0\.0\.4/)
  const values = body.split('\n').filter((line) => /^(millrace|gen_ai)/.test(line))
  for (const line of [
    'millrace_http_requests_total{endpoint="POST /v1/chat/completions",status="200"} 2',
    'millrace_turns_total{model="demo",outcome="completed"} 1',
    'millrace_turns_total{model="none",outcome="refused"} 1',
    'millrace_tokens_total{model="demo",class="uncached_input"} 9',
    'millrace_tokens_total{model="demo",class="cached_input"} 4',
    'millrace_tokens_total{model="demo",class="output"} 24',
    'millrace_charged_nano_usd_total{model="demo"} 12300',
    'millrace_lane_attempts_total{lane="a/m",outcome="throttled"} 1',
    'millrace_lane_attempts_total{lane="b/m",outcome="finished"} 1',
    'millrace_failovers_total{model="demo"} 1',
    'millrace_lane_failovers_total{lane="a/m"} 1',
    'millrace_lane_failovers_total{lane="b/m"} 0',
    'millrace_lane_tokens_total{lane="b/m",class="output"} 25',
    'millrace_lane_charged_nano_usd_total{lane="a/m"} 0',
    'millrace_lane_charged_nano_usd_total{lane="b/m"} 12300',
    'millrace_lane_cost_nano_usd_total{lane="b/m"} 11000',
    'millrace_input_estimate_error_ratio_bucket{le="0",model="demo"} 0',
    'millrace_input_estimate_error_ratio_bucket{le="0.05",model="demo"} 1',
    'gen_ai_client_operation_duration_seconds_sum{lane="b/m"} 0.38',
    'gen_ai_client_operation_time_to_first_chunk_seconds_bucket{le="0.02",lane="b/m"} 0',
    'gen_ai_client_operation_time_to_first_chunk_seconds_bucket{le="0.04",lane="b/m"} 1',
    'gen_ai_client_operation_time_to_first_chunk_seconds_bucket{le="+Inf",lane="b/m"} 1',
    'gen_ai_server_time_to_first_token_seconds_bucket{le="0.04",gen_ai_request_model="demo"} 1',
    'gen_ai_server_request_duration_seconds_sum{gen_ai_request_model="demo"} 0.412',
    'millrace_ledger_batch_operations_bucket{le="4"} 1',
    'millrace_ledger_commit_seconds_bucket{le="0.002"} 1',
    'millrace_holds_recovered_total 2',
  ]) {
    expect(values).toContain(line)
  }
})

it('open holds and the state of the ledger are read at each scrape', async () => {
  const metrics = createMetrics()
  const ledger = { openHolds: 5, gate: { open: true } }
  metrics.watchLedger(ledger)
  const { body } = await metrics.render()
  expect(body).toContain('\nmillrace_holds_open 5\n')
  expect(body).toContain('\nmillrace_ledger_available 1\n')
  Object.assign(ledger, { openHolds: 0, gate: { open: false } })
  const later = (await metrics.render()).body
  expect(later).toContain('\nmillrace_holds_open 0\n')
  expect(later).toContain('\nmillrace_ledger_available 0\n')
})

it('a loaded configuration begins the series of its models and lanes at zero, and removes all others', async () => {
  const metrics = createMetrics()
  const configured = (...lanes: string[]) => ({
    models: [{ id: lanes.join('+'), lanes: lanes.map((id) => ({ id })) }],
  })
  const seen = async (name: string) =>
    ((await metrics.render()).body.match(new RegExp(`^${name}\\{.*$`, 'gm')) ?? []).map((line) => line.split('{')[1])
  metrics.configLoaded(configured('a/m', 'b/m'))
  expect(await seen('millrace_lane_failovers_total')).toEqual(['lane="a/m"} 0', 'lane="b/m"} 0'])
  expect(await seen('millrace_shortfall_nano_usd_total')).toEqual(['model="none"} 0', 'model="a/m+b/m"} 0'])
  metrics.laneCooledDown('a/m', 'failing')
  const attempts = [{ lane: 'b/m', outcome: 'finished', ms: 1 }]
  metrics.turnEnded({ model: 'a/m+b/m', outcome: 'completed', totalMs: 1, attempts })
  metrics.configLoaded(configured('b/m', 'c/m'))
  expect(await seen('millrace_lane_cooldowns_total')).toEqual([])
  expect(await seen('millrace_turns_total')).toEqual([])
  expect(await seen('millrace_lane_attempts_total')).toEqual(
    ['b/m', 'c/m'].flatMap((lane) => [
      `lane="${lane}",outcome="finished"} ${lane === 'b/m' ? 1 : 0}`,
      `lane="${lane}",outcome="credential"} 0`,
      `lane="${lane}",outcome="not-found"} 0`,
    ]),
  )
  expect(await seen('millrace_lane_failovers_total')).toEqual(['lane="b/m"} 0', 'lane="c/m"} 0'])
  // A lane that comes back begins again.
  metrics.configLoaded(configured('a/m'))
  metrics.laneCooledDown('a/m', 'failing')
  expect(await seen('millrace_lane_cooldowns_total')).toEqual(['lane="a/m",reason="failing"} 1'])
})

it('what cannot be read of the disk is not rendered', async () => {
  const metrics = createMetrics()
  const uses = [
    { disk: { bytes: 100, freeBytes: 40 }, files: [{ name: 'ledger.db', bytes: 7 }] },
    { disk: undefined, files: [] },
  ]
  metrics.watchStorage(async () => uses.shift()!)
  const storage = async () => (await metrics.render()).body.match(/^millrace_data.*$/gm)
  expect(await storage()).toEqual([
    'millrace_data_disk_available_bytes 40',
    'millrace_data_disk_bytes 100',
    'millrace_database_file_bytes{file="ledger.db"} 7',
  ])
  expect(await storage()).toBe(null)
})

it('the length of the audit log and its head are read together, and absent without a row', async () => {
  const metrics = createMetrics()
  let acts = 0
  // The audit log grows between any two readings.
  metrics.watchAuditLog(async () => {
    acts += 1
    return acts === 3 ? undefined : { rows: acts, head: 100 + acts }
  })
  const auditLog = async () => (await metrics.render()).body.match(/^millrace_audit_trail_\w+ .*$/gm)
  expect(await auditLog()).toEqual(['millrace_audit_trail_rows 1', 'millrace_audit_trail_head 101'])
  expect(await auditLog()).toEqual(['millrace_audit_trail_rows 2', 'millrace_audit_trail_head 102'])
  expect(await auditLog()).toBe(null)
  expect(await auditLog()).toEqual(['millrace_audit_trail_rows 4', 'millrace_audit_trail_head 104'])
})

it('the load is read once a scrape for all its series', async () => {
  const metrics = createMetrics()
  let asked = 0
  metrics.watchLoad(() => {
    asked += 1
    return { running: asked, bytesTaken: 20, bytesMax: 300, waiting: asked, isStrained: true }
  })
  const { body } = await metrics.render()
  for (const line of [
    'millrace_turns_running 1',
    'millrace_memory_budget_used_bytes 20',
    'millrace_memory_budget_bytes 300',
    'millrace_queue_length 1',
    'millrace_event_loop_strained 1',
  ]) {
    expect(body.split('\n')).toContain(line)
  }
})

it('the process and the delay of its event loop are there, and two registries do not mix', async () => {
  const first = createMetrics()
  const second = createMetrics()
  first.holdsRecovered(7)
  const { body } = await second.render()
  expect(body).toContain('nodejs_eventloop_lag_p99_seconds')
  expect(body).toContain('process_cpu_seconds_total')
  expect(body).toContain('millrace_holds_recovered_total 0')
})

it('a refused configuration is shown at each scrape', async () => {
  const metrics = createMetrics()
  let isRefused = true
  metrics.watchReload(() => isRefused)
  expect((await metrics.render()).body).toContain('\nmillrace_config_reload_refused 1\n')
  isRefused = false
  expect((await metrics.render()).body).toContain('\nmillrace_config_reload_refused 0\n')
})
