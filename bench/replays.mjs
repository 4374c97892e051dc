// Whether giving kept answers again slows down everybody else's money: the settle of normal traffic alone, and while
// clients replay bodies of 1 MiB as fast as they can. What is timed is the end of an answer that waits for its settle.
//
//   npm run bench -- replays [--rounds 3] [--seconds 5] [--clients 32]
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { sendTurn } from './lib/keyed-ask.mjs'
import { describeMachine, median } from './lib/measure.mjs'
import { mockConfig } from './lib/mock-config.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '5' },
    clients: { type: 'string', default: '32' },
  },
})
const [ROUNDS, SECONDS, CLIENTS] = [Number(values.rounds), Number(values.seconds), Number(values.clients)]
/** Normal traffic: far below what the machine can do, so that what is measured is a wait and not a queue. */
const NORMAL_CLIENTS = 4
const NORMAL_PAUSE_MS = 20
/** About a hundred bytes a chunk. */
const CHUNKS_OF_A_MEBIBYTE = 4600
const MODELS = ['c1-d0', `c${CHUNKS_OF_A_MEBIBYTE}-d0`]

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const children = []
try {
  const mock = fork(fileURLToPath(new URL('./lib/mock-provider.mjs', import.meta.url)))
  children.push(mock)
  const { port: upstreamPort } = await new Promise((resolve) => mock.once('message', resolve))
  const server = await startMillrace(folder, mockConfig(upstreamPort, MODELS, { maxOutputTokens: 128_000 }))
  children.push(server.child)
  console.log(`# replays: ${describeMachine()}`)
  const kept = await keepAnswers(server)
  console.log(
    `${ROUNDS} rounds of ${SECONDS} s each way, interleaved; ${NORMAL_CLIENTS} normal clients; ${CLIENTS} replay ${(kept[0].bytes / 1024).toFixed(0)} KiB each\n`,
  )
  console.log('| normal traffic | settle p50 ms | p99 ms | requests | replays/s |')
  console.log('|---|---|---|---|---|')
  const rounds = []
  await measure(server, [])
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ alone: await measure(server, []), beside: await measure(server, kept) })
  }
  for (const [name, says] of [
    ['alone', 'alone'],
    ['beside', 'beside replays'],
  ]) {
    const of = (what) => median(rounds.map((round) => round[name][what]))
    console.log(
      `| ${says} | ${of('p50').toFixed(2)} | ${of('p99').toFixed(2)} | ${of('count')} | ${of('replays').toFixed(0)} |`,
    )
  }
  const ratios = rounds.map(({ alone, beside }) => beside.p50 / alone.p50)
  console.log(
    `\nratio of the p50, by round: ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}; median ${median(ratios).toFixed(2)}`,
  )
} finally {
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

/** One kept answer for each client that will ask for it again. */
async function keepAnswers(server) {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const kept = []
  for (let client = 0; client < CLIENTS; client++) {
    const asked = { key: randomUUID(), body: bodyOf(`c${CHUNKS_OF_A_MEBIBYTE}-d0`) }
    const { status, bytes } = await sendTurn(server, agent, asked)
    if (status !== 200) throw new Error(`an answer was not kept: ${status}`)
    kept.push({ ...asked, bytes })
  }
  agent.destroy()
  return kept
}

/** In a process that gives way to all others: clients do not run on the machine of the server. Resolves to how many. */
async function replayElsewhere(server, kept) {
  const child = fork(fileURLToPath(new URL('./lib/replay-clients.mjs', import.meta.url)))
  children.push(child)
  const { port, headers } = server
  child.send({ server: { port, headers }, seconds: SECONDS, asked: kept.map(({ key, body }) => [key, String(body)]) })
  const [replays] = await once(child, 'message')
  child.kill()
  return replays
}

async function measure(server, kept) {
  const until = performance.now() + SECONDS * 1000
  const agent = new Agent({ keepAlive: true })
  const waits = []
  const normal = async () => {
    while (performance.now() < until) {
      const { settledMs } = await sendTurn(server, agent, { body: bodyOf('c1-d0') })
      waits.push(settledMs)
      await sleep(NORMAL_PAUSE_MS)
    }
  }
  const replaying = kept.length === 0 ? 0 : replayElsewhere(server, kept)
  await Promise.all(Array.from({ length: NORMAL_CLIENTS }, normal))
  agent.destroy()
  const replays = await replaying
  waits.sort((a, b) => a - b)
  return {
    p50: waits[waits.length >> 1],
    p99: waits[Math.floor(waits.length * 0.99)],
    count: waits.length,
    replays: replays / SECONDS,
  }
}

function bodyOf(model) {
  return Buffer.from(JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello' }] }))
}
