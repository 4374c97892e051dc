// biome-ignore-all lint/suspicious/noTemplateCurlyInString: ${…} is the file's own way of naming a variable.
import { availableParallelism } from 'node:os'
import { describe, expect, test } from 'vitest'
import { loaded, modelYaml, pricedYaml } from '../../test/fixtures/config/config.ts'

describe('a valid configuration', () => {
  test('without a file serves the demo at a small price, on loopback, without limits', () => {
    const { config, origin } = loaded({})
    expect(origin).toEqual({ kind: 'defaults' })
    expect(config.server).toMatchObject({ host: '127.0.0.1', port: 4600, metricsPort: 4601, workers: 1 })
    expect(config.bounds).toEqual({
      bodyBytesMax: 32 * 1024 * 1024,
      expansionRatioMax: 100,
      jsonValuesMax: 200_000,
      jsonDepthMax: 64,
      headerBytesMax: 16 * 1024,
      headerTimeoutMs: 10_000,
      requestTimeoutMs: 60_000,
      keepAliveTimeoutMs: 75_000,
      frameBytesMax: 4 * 1024 * 1024,
    })
    expect(config.drain).toEqual({ timeoutMs: 30_000, lingerMs: 0 })
    expect(config.ledger.markIntervalMs).toBe(100)
    expect(config.retention).toMatchObject({ stateMs: 72 * 3_600_000, stateBytesMax: 1024 ** 3 })
    expect(config.limits.key).toEqual({ burstMs: 60_000 })
    expect(
      config.models.map(({ id, price }) => [id, price?.input, price?.cachedInput, price?.cacheWrite, price?.output]),
    ).toEqual([
      ['demo', 100_000n, 25_000n, 100_000n, 400_000n],
      ['demo-tools', 100_000n, 25_000n, 100_000n, 400_000n],
    ])
  })

  test('has a worker for each core where it says auto, and with SQLite one', () => {
    const workersOf = (database: string) =>
      loaded({ yaml: `server: { workers: auto }\nstorage: { database: "${database}" }` }).config.server.workers
    expect(workersOf('postgres://u@h/d')).toBe(availableParallelism())
    expect(workersOf('sqlite')).toBe(1)
    expect(loaded({ environment: { MILLRACE_SERVER__WORKERS: 'auto' } }).config.server.workers).toBe(1)
  })

  test.each(['', '# nothing but a comment\n', '---\n', '{}'])('that is empty (%j) has no models', (yaml) => {
    expect(loaded({ yaml }).config.models).toEqual([])
  })

  test('keeps prices exactly, sorts tiers and fills in cache prices', () => {
    const yaml = pricedYaml(
      'input: "3.00", output: "15", per_request: "0.001", tiers: [{ above_input_tokens: 900, input: "6", output: "22.5" }, { above_input_tokens: 400, input: "4", cached_input: "0.4", cache_write: "5", output: "20" }]',
    )
    expect(loaded({ yaml }).config.models[0]?.price).toEqual({
      input: 3_000_000n,
      cachedInput: 3_000_000n,
      cacheWrite: 3_000_000n,
      output: 15_000_000n,
      perRequest: 1_000_000n,
      tiers: [
        {
          aboveInputTokens: 400,
          input: 4_000_000n,
          cachedInput: 400_000n,
          cacheWrite: 5_000_000n,
          output: 20_000_000n,
        },
        {
          aboveInputTokens: 900,
          input: 6_000_000n,
          cachedInput: 6_000_000n,
          cacheWrite: 6_000_000n,
          output: 22_500_000n,
        },
      ],
    })
  })

  test('may leave a price out', () => {
    expect(loaded({ yaml: modelYaml('efforts: []') }).config.models[0]?.price).toBeUndefined()
  })

  test('distinguishes an absent list of efforts from an empty one', () => {
    expect(loaded({ yaml: modelYaml('inputs: [text]') }).config.models[0]?.efforts).toBeUndefined()
    expect(loaded({ yaml: modelYaml('efforts: []') }).config.models[0]?.efforts).toEqual([])
    expect(loaded({ yaml: modelYaml('efforts: [LOW, ultra]') }).config.models[0]?.efforts).toEqual(['low', 'ultra'])
  })

  test('may share values through an alias', () => {
    const yaml = 'drain: { timeout: &t 20s, linger: *t }'
    expect(loaded({ yaml }).config.drain).toEqual({ timeoutMs: 20_000, lingerMs: 20_000 })
  })

  test('replaces references to variables and files, also in numbers', () => {
    const yaml = `server: { port: "\${P:-4700}", host: "\${H}", metrics_port: "\${EMPTY:-4800}" }
key_ring: { secret_key: "\${file:key}" }
telemetry: { metrics: "\${ON}" }
upstreams: [{ id: demo, wire: demo }]
models: [{ id: m, description: "$\${NOT}", context_tokens: 9, max_output_tokens: 9, lanes: [{ upstream: demo, model: x }] }]`
    const files = { '/srv/key': `${'k'.repeat(40)}\n` }
    const { config } = loaded({ yaml, files, environment: { H: '::1', EMPTY: '', ON: 'false' } })
    expect(config.server).toMatchObject({ port: 4700, host: '::1', metricsPort: 4800 })
    expect(config.keyring.secretKey).toBe('k'.repeat(40))
    expect(config.telemetry.metrics).toBe(false)
    expect(config.models[0]?.description).toBe('${NOT}')
  })
})
