import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeMachine } from './measure.mjs'
import { pin } from './pin.mjs'
import { startMillrace } from './start-millrace.mjs'

const PROVIDER = fileURLToPath(new URL('./mock-languages.mjs', import.meta.url))

/** One server and one provider of every wire, each on its core, for as long as `measure` takes. Models are named `wire-answer`. */
export async function withPinnedServer({ name, answers }, measure) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  const provider = fork(PROVIDER)
  const [{ port }] = await once(provider, 'message')
  const metricsPort = 30_000 + (process.pid % 2000)
  const millrace = await startMillrace(folder, configText({ metricsPort, providerPort: port, answers }))
  try {
    console.log(`# ${name}: ${describeMachine()}`)
    const pinned = pin({ server: millrace.pid, others: [provider.pid, process.pid] })
    console.log(`${pinned}; load average ${loadavg()[0].toFixed(1)}\n`)
    await measure({ ...millrace, metricsPort, logPath: join(folder, 'log') })
  } finally {
    millrace.child.kill()
    provider.kill()
    await millrace.child.ended
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const WIRES = ['chat', 'responses', 'anthropic']

const configText = ({ metricsPort, providerPort, answers }) =>
  JSON.stringify({
    server: { metrics_port: metricsPort },
    upstreams: WIRES.map((wire) => ({
      id: wire,
      wire,
      base_url: `http://127.0.0.1:${providerPort}/v1`,
      api_key: 'bench',
      allow_private: true,
    })),
    models: WIRES.flatMap((wire) =>
      answers.map((answer) => ({
        id: `${wire}-${answer}`,
        context_tokens: 1_000_000,
        max_output_tokens: 100_000,
        price: { input: '0.10', cached_input: '0.02', output: '0.40' },
        lanes: [{ upstream: wire, model: answer }],
      })),
    ),
    telemetry: { log: { level: 'warn', format: 'json' } },
  })

/** A request of either protocol, as bytes. */
export function requestBytes(protocol, model, { stream = true, fill = 900 } = {}) {
  const content = 'z'.repeat(fill)
  const body =
    protocol === 'chat'
      ? { model, stream, messages: [{ role: 'user', content }] }
      : { model, stream, store: false, input: content }
  const path = protocol === 'chat' ? '/v1/chat/completions' : '/v1/responses'
  return { path, body: Buffer.from(JSON.stringify(body)) }
}
