// Whether what people look at delays what others pay: steady traffic at a fixed rate, far below what the machine can do, on a
// copy of a year of receipts, alone and beside people who read in the console (usage, requests, wallet, plan, overview), whole
// statements as CSV and the proof of the books, one after the other without a pause; by turns.
//
//   npm run bench -- reads-beside FOLDER [--rounds 5] [--seconds 10] [--rate 40] [--people 10]
//
// FOLDER is one of test/browser/seed-year.mjs, with no server on it; it stays as it is.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent } from 'node:http'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { millrace, placeIn } from '../test/program/program.mjs'
import { sendTurn } from './lib/keyed-ask.mjs'
import { describeMachine, median } from './lib/measure.mjs'
import { mockConfig } from './lib/mock-config.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '10' },
    rate: { type: 'string', default: '40' },
    people: { type: 'string', default: '10' },
  },
})
const [seeded] = positionals
if (seeded === undefined) throw new Error('Which folder?')
const [ROUNDS, SECONDS, RATE, PEOPLE] = [values.rounds, values.seconds, values.rate, values.people].map(Number)
const EVERY_MS = 1000 / RATE
const PLANS = `plans:
  - id: builder
    models: ["*"]
    windows:
      - { every: 5h, allowance: "40.00" }
      - { every: month, allowance: "4000.00" }
`
const BODY = Buffer.from(
  JSON.stringify({ model: 'c1-d0', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
)

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const children = []
try {
  cpSync(join(seeded, 'data'), join(folder, 'data'), { recursive: true })
  const mock = start('./lib/mock-provider.mjs')
  const { port: upstreamPort } = (await once(mock, 'message'))[0]
  const server = await startMillrace(
    folder,
    mockConfig(upstreamPort, ['c1-d0'], { maxOutputTokens: 128_000, plans: PLANS }),
  )
  children.push(server.child)
  const readers = start('./lib/console-readers.mjs')
  const place = placeIn(folder)
  readers.send({ port: server.port, link: await invite(place), place, people: PEOPLE })
  await once(readers, 'message')
  console.log(`# reads-beside: ${describeMachine()}, load ${loadavg()[0].toFixed(1)}`)
  console.log(`${ROUNDS} rounds of ${SECONDS} s each way, ${RATE} requests a second; ${PEOPLE} people read\n`)
  await measure(server)
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const both = {}
    for (const name of round % 2 === 0 ? ['alone', 'beside'] : ['beside', 'alone']) {
      both[name] = name === 'alone' ? await measure(server) : await readWhile(readers, () => measure(server))
    }
    rounds.push(both)
  }
  sayAll(rounds)
} finally {
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

function start(script) {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)))
  children.push(child)
  // Without this, the wait for its message would never end.
  child.once('exit', (code) => {
    if (code) throw new Error(`${script} has ended with ${code}`)
  })
  return child
}

/** An invitation for the owner of the account with a year of receipts. */
async function invite(place) {
  const { email } = JSON.parse(readFileSync(join(seeded, 'seed.json'), 'utf8'))
  const { link } = await millrace(place, 'people', 'invite', 'reader@localhost', '--account', email)
  return link
}

/** Requests come when they come, however long the ones before them take. */
async function measure(server) {
  const agent = new Agent({ keepAlive: true })
  const sent = []
  const began = performance.now()
  for (let number = 0; number < SECONDS * RATE; number++) {
    await sleep(Math.max(0, began + number * EVERY_MS - performance.now()))
    sent.push(timed(server, agent))
  }
  const answers = await Promise.all(sent)
  agent.destroy()
  return { settle: answers.map(({ settledMs }) => settledMs), whole: answers.map(({ wholeMs }) => wholeMs) }
}

async function timed(server, agent) {
  const began = performance.now()
  const { status, settledMs } = await sendTurn(server, agent, { body: BODY })
  if (status !== 200) throw new Error(`answered with ${status}`)
  return { settledMs, wholeMs: performance.now() - began }
}

async function readWhile(readers, work) {
  readers.send('read')
  const measured = await work()
  readers.send('stop')
  const [answered] = await once(readers, 'message')
  return { ...measured, ...answered }
}

function sayAll(rounds) {
  const at = (list, share) => list.toSorted((one, other) => one - other)[Math.floor(list.length * share)]
  const of = (name, what, share) => rounds.map((round) => at(round[name][what], share))
  console.log('| ms | settle p50 | settle p99 | whole answer p50 | whole answer p99 |\n|---|---|---|---|---|')
  const cells = [
    ['settle', 0.5],
    ['settle', 0.99],
    ['whole', 0.5],
    ['whole', 0.99],
  ]
  for (const name of ['alone', 'beside']) {
    console.log(`| ${name} | ${cells.map(([what, share]) => median(of(name, what, share)).toFixed(2)).join(' | ')} |`)
  }
  const ratios = cells.map(([what, share]) => {
    const [alone, beside] = [of('alone', what, share), of('beside', what, share)]
    return alone.map((each, round) => beside[round] / each)
  })
  console.log(`| ratio | ${ratios.map((each) => median(each).toFixed(2)).join(' | ')} |`)
  const worst = (name) => Math.max(...rounds.flatMap((round) => round[name].settle)).toFixed(1)
  console.log(`\nworst settle ${worst('alone')} alone, ${worst('beside')} beside`)
  console.log(`ratio of the settle p99 by round: ${ratios[1].map((each) => each.toFixed(2)).join(', ')}`)
  const sum = (what) => rounds.reduce((total, { beside }) => total + beside[what], 0)
  const each = (what) => (sum(what) / (ROUNDS * SECONDS)).toFixed(1)
  console.log(
    `read beside: ${each('questions')} questions and ${each('lines')} lines of CSV a second, ${sum('proofs')} proofs in all`,
  )
  const slowest = {}
  for (const { beside } of rounds) {
    for (const [name, took] of Object.entries(beside.took)) slowest[name] = [...(slowest[name] ?? []), ...took]
  }
  console.log('\n| question | median ms | p99 ms | asked |\n|---|---|---|---|')
  for (const [name, took] of Object.entries(slowest)) {
    console.log(`| ${name} | ${at(took, 0.5).toFixed(1)} | ${at(took, 0.99).toFixed(1)} | ${took.length} |`)
  }
}
