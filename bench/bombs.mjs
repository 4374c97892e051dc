// How long a hostile body holds everybody else up: the longest answer of /healthz, asked without a pause from a thread of
// its own, while the body is sent and refused. Each refusal must be ours: status, envelope, request id.
//
//   npm run bench -- bombs
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { describeMachine, median } from './lib/measure.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const ROUNDS = 5
const MiB = 1024 * 1024
const EMPTY_ARRAYS = Buffer.from(`{"a":[${'[],'.repeat(10.6 * MiB)}1]}`)
const ASK = '"messages":[{"role":"user","content":"x"}]'
const CONFIG = `server: { metrics_port: 0 }
upstreams: [{ id: demo, wire: demo }]
models: [{ id: demo, context_tokens: 8000, max_output_tokens: 100, price: { input: "1", output: "1" }, lanes: [{ upstream: demo, model: demo-fast }] }]
`

const BOMBS = [
  ['nothing hostile: a missing model', 400, `{${ASK}}`],
  ['32 MiB of [],', 413, EMPTY_ARRAYS],
  ['the same, gzipped', 413, gzipSync(EMPTY_ARRAYS), { 'content-encoding': 'gzip' }],
  [
    'the same, brotli',
    413,
    brotliCompressSync(EMPTY_ARRAYS, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
    { 'content-encoding': 'br' },
  ],
  ['depth 100,000', 413, `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['model twice', 400, `{"model":"demo","model":"dear",${ASK}}`],
  ['mod\\u0065l', 400, `{"mod\\u0065l":"demo",${ASK}}`],
  ['Model', 400, `{"Model":"demo",${ASK}}`],
  ['two Authorization headers', 400, `{"model":"demo",${ASK}}`, { twice: true }],
  ['31 MiB of text without an end', 400, `{"a":"${'x'.repeat(31 * MiB)}`],
  ['180,000 numbers, then a mistake', 400, `{"a":[${'1,'.repeat(180_000)}]}`],
]

const folder = mkdtempSync(join(tmpdir(), 'millrace-bombs-'))
const server = await startMillrace(folder, CONFIG)
const poller = new Worker(pollerBody(), { eval: true, workerData: server.port })
let failures = 0
try {
  console.log(`# bombs: ${describeMachine()}`)
  console.log(`${ROUNDS} rounds; the longest wait of another request meanwhile, ms\n`)
  console.log('| body | kB sent | answer | wait, median | wait, worst |')
  console.log('|---|---|---|---|---|')
  for (const [name, status, body, headers] of BOMBS) console.log(await drop(name, status, Buffer.from(body), headers))
} finally {
  await poller.terminate()
  server.child.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
process.exitCode = failures > 0 ? 1 : 0

async function drop(name, status, body, headers = {}) {
  const waits = []
  let answer
  for (let round = 0; round < ROUNDS; round++) {
    await longestWait()
    answer = await send(body, headers)
    waits.push(await longestWait())
    const isOurs = answer.status === status && answer.error?.request_id === answer.requestId
    if (!isOurs) failures++
  }
  const said = `${answer.status} ${answer.error?.code}`
  return `| ${name} | ${Math.ceil(body.length / 1024)} | ${said} | ${median(waits).toFixed(1)} | ${Math.max(...waits).toFixed(1)} |`
}

/** The longest wait since the last call. */
function longestWait() {
  return new Promise((resolve) => {
    setTimeout(() => {
      poller.once('message', resolve)
      poller.postMessage('tell')
    }, 40)
  })
}

function send(body, { twice = false, ...headers }) {
  const { authorization } = server.headers
  return new Promise((resolve) => {
    const sent = request({
      port: server.port,
      host: '127.0.0.1',
      method: 'POST',
      path: '/v1/chat/completions',
      headers: {
        'content-type': 'application/json',
        'content-length': body.length,
        ...headers,
        authorization: twice ? [authorization, authorization] : authorization,
      },
    })
    sent.on('response', (answer) => {
      const parts = []
      answer.on('data', (part) => parts.push(part))
      answer.on('end', () =>
        resolve({
          status: answer.statusCode,
          requestId: answer.headers['x-request-id'],
          error: JSON.parse(Buffer.concat(parts)).error,
        }),
      )
    })
    // The server answers before it has read everything; what was still on its way is of no interest.
    sent.on('error', () => {})
    sent.end(body)
  })
}

function pollerBody() {
  return `
    const { parentPort, workerData: port } = require('node:worker_threads')
    const { Agent, get } = require('node:http')
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let worst = 0
    const ask = () => {
      const started = performance.now()
      get({ port, host: '127.0.0.1', path: '/healthz', agent }, (answer) => {
        answer.resume()
        answer.on('end', () => {
          worst = Math.max(worst, performance.now() - started)
          setImmediate(ask)
        })
      }).on('error', () => setTimeout(ask, 10))
    }
    parentPort.on('message', () => {
      parentPort.postMessage(worst)
      worst = 0
    })
    ask()
  `
}
