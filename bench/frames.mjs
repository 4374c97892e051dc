// What a frame costs on each path: relayed in Chat, encoded again in Responses, translated from one into the other, and
// from the wires of other providers. CPU of the whole gateway over real sockets, the paths in rotation, and every ratio to
// the relay of Chat in the same run. A table before it says what the carriers alone take, without sockets, money and store.
//
//   npm run bench -- frames [--rounds 5] [--scale 1] [--only NAME]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { adaptersAlone } from './lib/carriers-alone.mjs'
import { describeMachine, median } from './lib/measure.mjs'
import { configText, ROUTES, runRoute, SCENARIOS, startProvider } from './lib/roads.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const ROUNDS = Number(options.rounds)
const SCALE = Number(options.scale)

console.log(`# frames: ${describeMachine()}\n`)
if (options.only === '' || options.only === 'carriers') adaptersAlone()
if (options.only !== 'carriers') await wholeGateway()

async function wholeGateway() {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
  const children = []
  try {
    const { child, port } = await startProvider()
    children.push(child)
    const millrace = await startMillrace(folder, configText(port))
    children.push(millrace.child)
    console.log(
      `${ROUNDS} rounds in rotation, scale ${SCALE}; CPU of the server process with all its threads, median; us a frame, or a request in the last two\n`,
    )
    console.log(`| scenario | ${ROUTES.map(({ name }) => name).join(' | ')} | failures |`)
    console.log(`|---|${ROUTES.map(() => '---|').join('')}---|`)
    for (const scenario of SCENARIOS.filter(({ name }) => options.only === '' || options.only === name)) {
      console.log(await compare(millrace, scenario))
    }
  } finally {
    for (const child of children) child.kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function compare(millrace, scenario) {
  const runs = new Map(ROUTES.map((route) => [route, []]))
  for (const route of ROUTES) await runRoute(millrace, route, scenario, scenario.warmUp * SCALE)
  for (let round = 0; round < ROUNDS; round++) {
    const order = ROUTES.map((_, at) => ROUTES[(at + round) % ROUTES.length])
    for (const route of order)
      runs.get(route).push(await runRoute(millrace, route, scenario, scenario.requests * SCALE))
  }
  const cpu = ROUTES.map((route) => median(runs.get(route).map((result) => result.cpu)))
  const cells = cpu.map((micros) => `${micros.toFixed(2)} (${(micros / cpu[0]).toFixed(2)})`)
  const failures = [...runs.values()].flat().reduce((sum, result) => sum + result.failures, 0)
  return `| ${scenario.title} | ${cells.join(' | ')} | ${failures} |`
}
