import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { refuses, whole } from '../fakes/emit.ts'
import { type FaultUpstream, startFaultUpstream } from '../fakes/fault-upstream.ts'
import { hasPromtool, promtool, RULES } from '../support/promtool.ts'
import { hello, send } from '../support/send-chat.ts'
import { type SpawnedServer, spawnServer } from '../support/spawn-server.ts'
import { until } from '../support/until.ts'

/**
 * The faults that operators must see, made on the real program. promtool gets what `/metrics` said before and after a fault as the
 * samples of a Prometheus, and says which of our rules fire on them.
 */
const FAULTS = ['MillraceFailover', 'MillraceReloadRefused', 'MillraceShortfall', 'MillraceProviderKeyRefused']
/** More input than the request can have: the hold does not cover it, and a provider is believed that much. */
const FAR_TOO_MUCH = { prompt_tokens: 5_000_000, completion_tokens: 5 }

let provider: FaultUpstream
let server: SpawnedServer
let metricsUrl: string

const configOf = (models: string) => `
upstreams:
  - { id: far, wire: chat, dialect: openai, base_url: "${provider.baseUrl}", api_key: sk-of-provider, allow_private: true }
  - { id: lapsed, wire: chat, dialect: openai, base_url: "${provider.baseUrl}", api_key: sk-expired, allow_private: true }
models:
${models}`

const model = (id: string, lanes: readonly string[], upstream = 'far') => `  - id: ${id}
    context_tokens: 8000
    max_output_tokens: 1000
    price: { input: "1.00", output: "1.00" }
    lanes:
${lanes.map((lane, index) => `      - { upstream: ${upstream}, model: ${lane}, priority: ${index + 1}, cost: { input: "0.50", output: "0.50" } }`).join('\n')}
`

const MODELS = [model('calm', ['good']), model('twofold', ['broken', 'good']), model('greedy', ['greedy'])]
const EXPIRING = model('expiring', ['expired'], 'lapsed')

beforeAll(async () => {
  provider = await startFaultUpstream((name) => {
    if (name === 'broken') return (answer) => refuses(500)(answer, 'before')
    if (name === 'expired') return (answer) => refuses(401)(answer, 'before')
    return (answer) => whole(answer, name === 'greedy' ? { usage: FAR_TOO_MUCH } : {})
  })
  const port = await freePort()
  metricsUrl = `http://127.0.0.1:${port}/metrics`
  server = await spawnServer({
    config: configOf([...MODELS, EXPIRING].join('')),
    environment: { MILLRACE_SERVER__METRICS_PORT: String(port) },
  })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function ask(id: string): Promise<number> {
  const response = await send(server, { key: server.key }, { model: id, messages: hello(), stream: false })
  await response.text()
  return response.status
}

type Samples = ReadonlyMap<string, string>

async function scrape(): Promise<Samples> {
  const page = await (await fetch(metricsUrl)).text()
  // The other series of Node and of the process are no part of any rule.
  const lines = page.split('\n').filter((line) => /^(?:millrace|gen_ai)_/.test(line))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), line.slice(line.lastIndexOf(' ') + 1)]))
}

/** Two minutes of samples from before, two from after; the rules look at the end of either. */
const EACH = 8
const EVERY_S = 15

/** Which of the four alerts fire before and after, by promtool, our rules file and the product's own samples. */
async function expectFiring(expected: readonly string[], before: Samples, after: Samples): Promise<void> {
  const series = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    const [was, is] = [before.get(name), after.get(name)]
    const first = was === undefined ? `_x${EACH}` : `${was}+0x${EACH - 1}`
    return { series: name, values: `${first} ${is === undefined ? `_x${EACH}` : `${is}+0x${EACH - 1}`}` }
  })
  const firing = `count by (alertname) (ALERTS{alertstate="firing",alertname=~"${FAULTS.join('|')}"})`
  const at = (sample: number) => `${sample * EVERY_S}s`
  const test = {
    rule_files: [RULES],
    evaluation_interval: `${EVERY_S}s`,
    tests: [
      {
        interval: `${EVERY_S}s`,
        input_series: series,
        promql_expr_test: [
          { expr: firing, eval_time: at(EACH - 1), exp_samples: [] },
          {
            ...{ expr: firing, eval_time: at(2 * EACH - 1) },
            exp_samples: expected.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
          },
        ],
      },
    ],
  }
  const file = join(server.folder, 'samples.test.json')
  await writeFile(file, JSON.stringify(test))
  expect(await promtool('test', 'rules', file)).toContain('SUCCESS')
}

async function expectAlert(alert: string | undefined, fault: () => Promise<void>): Promise<void> {
  const before = await scrape()
  await fault()
  const after = await scrape()
  await expectFiring(alert === undefined ? [] : [alert], before, after)
}

describe.runIf(hasPromtool)('an alert fires on the samples of the real program', () => {
  it('after nothing: none does', async () => {
    await expectAlert(undefined, async () => expect(await ask('calm')).toBe(200))
  })

  it('after a failover', async () => {
    await expectAlert('MillraceFailover', async () => expect(await ask('twofold')).toBe(200))
  })

  it('after a shortfall', async () => {
    await expectAlert('MillraceShortfall', async () => expect(await ask('greedy')).toBe(200))
    const samples = await scrape()
    // Five million tokens at half a dollar a million, for which the client has paid less.
    expect(samples.get('millrace_lane_cost_nano_usd_total{lane="far/greedy"}')).toBe('2500002500')
    expect(Number(samples.get('millrace_lane_charged_nano_usd_total{lane="far/greedy"}'))).toBeLessThan(2500002500)
  })

  it('after a provider has refused its key', async () => {
    await expectAlert('MillraceProviderKeyRefused', async () => expect(await ask('expiring')).toBe(503))
    expect((await scrape()).get('millrace_lanes_aside{lane="lapsed/expired",reason="locked-out"}')).toBe('1')
    expect((await scrape()).get('millrace_lane_cooldowns_total{lane="lapsed/expired",reason="locked-out"}')).toBe('1')
  })

  it('after a reload was refused; one that is accepted removes the series of the lanes that are gone', async () => {
    const loadedAt = 'millrace_config_loaded_timestamp_seconds'
    const first = (await scrape()).get(loadedAt)
    // The lane that is set aside would be another alert.
    await reload(MODELS.join(''), 'the configuration was reloaded')
    const removed = [...(await scrape()).keys()].filter((name) => name.includes('expir'))
    expect(removed).toEqual([])
    expect(Number((await scrape()).get(loadedAt))).toBeGreaterThan(Number(first))
    await expectAlert('MillraceReloadRefused', () => reload('  - id: [', 'the configuration was not reloaded'))
    await reload(MODELS.join(''), 'the configuration was reloaded')
    expect((await scrape()).get('millrace_config_reload_refused')).toBe('0')
  })
})

async function reload(models: string, message: string): Promise<void> {
  const before = server.logged(message).length
  await server.writeConfig(configOf(models))
  server.kill('SIGHUP')
  await until(() => server.logged(message).length > before)
}
