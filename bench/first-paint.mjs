// When the console's first paint comes on a slow network, by the browser's own clock: the frame of the page, and the page
// itself. Chromium throttles the network; the cache is empty.
//
//   npm run bench -- first-paint [--kbps 50] [--latency-ms 100] [--rounds 5]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { chromium } from 'playwright-core'
import { findChromium } from '../test/browser/lib/find-chromium.mjs'
import { createBareAccount, placeIn, startServer } from '../test/program/program.mjs'
import { describeMachine, median } from './lib/measure.mjs'

const { values } = parseArgs({
  options: {
    kbps: { type: 'string', default: '50' },
    'latency-ms': { type: 'string', default: '100' },
    rounds: { type: 'string', default: '5' },
  },
})

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
const place = placeIn(folder)
writeFileSync(place.config, 'upstreams: [{ id: demo, wire: demo }]\n')
let server
let browser
try {
  await createBareAccount(place, 'bench@localhost')
  server = startServer(place, { logPath: join(folder, 'log') })
  const origin = new URL(await server.ready).origin
  browser = await chromium.launch({ executablePath: findChromium(process.env), args: ['--no-sandbox'] })
  console.log(`# first-paint: ${describeMachine()}`)
  console.log(`${values.kbps} kB a second, ${values['latency-ms']} ms\n`)
  console.log('| round | first paint ms | page shown ms |\n|---|---|---|')
  const rounds = []
  for (let round = 1; round <= Number(values.rounds); round++) {
    rounds.push(await load(`${origin}/console/sign-in`))
    console.log(
      `| ${round} | ${rounds
        .at(-1)
        .map((ms) => ms.toFixed(0))
        .join(' | ')} |`,
    )
  }
  console.log(`| median | ${[0, 1].map((at) => median(rounds.map((each) => each[at])).toFixed(0)).join(' | ')} |`)
} finally {
  await browser?.close()
  server?.kill('SIGTERM')
  await server?.ended
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}

async function load(address) {
  const context = await browser.newContext()
  const page = await context.newPage()
  const wire = await context.newCDPSession(page)
  const bytes = Number(values.kbps) * 1000
  await wire.send('Network.emulateNetworkConditions', {
    ...{ offline: false, latency: Number(values['latency-ms']), downloadThroughput: bytes, uploadThroughput: bytes },
  })
  await page.goto(address, { waitUntil: 'commit' })
  await page.getByRole('heading', { level: 1 }).first().waitFor({ timeout: 60_000 })
  const times = await page.evaluate(() => [
    performance.getEntriesByName('first-contentful-paint')[0].startTime,
    performance.now(),
  ])
  await context.close()
  return times
}
