// What a frame costs this build and another one, on every road, by turns in one run: whether a change made it slower.
//
//   npm run bench -- two-builds OTHER_DIST [--rounds 5] [--scale 1] [--only NAME]
//
// OTHER_DIST is the built product of another checkout, which has its packages installed beside it.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, median } from './lib/measure.mjs'
import { configText, ROUTES, runRoute, SCENARIOS, startProvider } from './lib/roads.mjs'
import { startMillrace } from './lib/start-millrace.mjs'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    scale: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const [other] = positionals
if (other === undefined) throw new Error('Which other build?')
const ROUNDS = Number(options.rounds)
const SCALE = Number(options.scale)

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const children = []
try {
  const { child, port } = await startProvider()
  children.push(child)
  const builds = [await startBuild('this', port), await startBuild('other', port, resolve(other))]
  console.log(`# two builds: ${describeMachine()}\n`)
  console.log(
    `${ROUNDS} rounds in rotation, scale ${SCALE}; CPU of the server process with all its threads, median: this / other (ratio)\n`,
  )
  console.log(`| scenario | ${ROUTES.map(({ name }) => name).join(' | ')} | all roads | failures |`)
  console.log(`|---|${ROUTES.map(() => '---|').join('')}---|---|`)
  for (const scenario of SCENARIOS.filter(({ name }) => options.only === '' || options.only === name)) {
    console.log(await compare(builds, scenario))
  }
} finally {
  for (const child of children) child.kill()
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function startBuild(name, port, dist) {
  const place = join(folder, name)
  mkdirSync(place)
  const millrace = await startMillrace(place, configText(port), { dist })
  children.push(millrace.child)
  return millrace
}

async function compare(builds, scenario) {
  const runs = ROUTES.map(() => builds.map(() => []))
  for (const route of ROUTES)
    for (const build of builds) await runRoute(build, route, scenario, scenario.warmUp * SCALE)
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, route] of ROUTES.entries()) {
      // Who is first in a pair has the colder caches.
      for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
        runs[at][which].push(await runRoute(builds[which], route, scenario, scenario.requests * SCALE))
      }
    }
  }
  const cpu = runs.map((pair) => pair.map((results) => median(results.map((result) => result.cpu))))
  const cells = cpu.map(([mine, others]) => `${mine.toFixed(2)} / ${others.toFixed(2)} (${(mine / others).toFixed(2)})`)
  const sum = (which) => cpu.reduce((total, pair) => total + pair[which], 0)
  const failures = runs.flat(2).reduce((total, result) => total + result.failures, 0)
  return `| ${scenario.title} | ${cells.join(' | ')} | ${(sum(0) / sum(1)).toFixed(2)} | ${failures} |`
}
