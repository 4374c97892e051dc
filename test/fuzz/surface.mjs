// The whole HTTP surface, asked by a grammar that is wrong in one or two places at a time: heads, paths, headers, bodies, framing.
// Nothing of it may crash the server, hang, or be answered with a 500, and every answer has its id and our envelope.
//
//   node test/fuzz/surface.mjs [--requests 200000] [--seed N] [--connections 16] [--seconds-max 900]
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { millrace, verifyBooks } from '../chaos/lib/cli.mjs'
import { readOptions } from '../chaos/lib/options.mjs'
import { createRandom } from '../chaos/lib/random.mjs'
import { findFreePort, startServer } from '../chaos/lib/server-process.mjs'
import { createTally } from '../chaos/lib/tally.mjs'
import { configText } from './lib/config-text.mjs'
import { openConnection } from './lib/connection.mjs'
import { judge } from './lib/judge.mjs'
import { composeRequest } from './lib/request-grammar.mjs'

const SHOWN_MAX = 12
/** Each has luck of its own, whichever way the others take. */
const CLIENTS_MAX = 1000
/** Of a request that may be megabytes long. */
const SHOWN_BYTES = 600

const options = readOptions({ requests: 200_000, connections: 16, 'seconds-max': 900 })
const random = createRandom(options.seed)
const tally = createTally()
const folder = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const place = { dist: options.dist, config: join(folder, 'millrace.yaml'), data: join(folder, 'data') }
const logPath = join(folder, 'server.log')
const port = await findFreePort(random)
writeFileSync(place.config, configText(await findFreePort(random)))
await millrace(place, 'accounts', 'create', '--email', 'fuzz@example.com')
await millrace(place, 'wallet', 'credit', 'fuzz@example.com', '1000', '--reason', 'fuzz', '--ref', 'first')
const { key } = await millrace(
  place,
  'keys',
  'create',
  '--account',
  'fuzz@example.com',
  '--kind',
  'wallet',
  '--name',
  'fuzz',
)
const server = await startServer({ ...place, port, logPath })

const counts = { asked: 0, answers: 0, closed: 0, kinds: {}, statuses: {}, codes: {} }
const violations = []
const until = performance.now() + options['seconds-max'] * 1000
let left = options.requests

const count = (table, what) => {
  table[what] = (table[what] ?? 0) + 1
}

/** One client: a request after the other, on one connection for as long as that lasts. */
async function ask(number) {
  const own = createRandom(options.seed * CLIENTS_MAX + number)
  let connection
  while (left > 0 && performance.now() < until && !server.ended) {
    left -= 1
    const request = composeRequest(own, { key, port })
    if (connection === undefined || connection.isOver) connection = await openConnection(port)
    const came = await connection.exchange(request)
    counts.asked += 1
    count(counts.kinds, request.kind)
    if (came.closed) counts.closed += 1
    for (const answer of came.answers) {
      counts.answers += 1
      count(counts.statuses, answer.status)
    }
    const { found, codes } = judge(request, came)
    for (const code of codes) count(counts.codes, code)
    for (const what of found) violations.push({ what, request, came })
  }
  connection?.close()
}

const from = performance.now()
console.log(`seed ${options.seed}: ${options.requests} requests over ${options.connections} connections`)
await Promise.all(Array.from({ length: options.connections }, (_, number) => ask(number)))
const seconds = (performance.now() - from) / 1000

console.log(JSON.stringify(counts))
for (const { what, request, came } of violations.slice(0, SHOWN_MAX)) {
  const bytes = Buffer.concat(request.pieces)
  console.log(`\n${what}\n  ${request.kind}: ${shown(bytes)}`)
  const { before, failure = 'none' } = came
  console.log(`  ${bytes.length} bytes in ${request.pieces.length} pieces; before it ${before}; error ${failure}`)
  for (const { raw } of came.answers) console.log(`  answered: ${shown(raw)}`)
}
const isAlive = !server.ended
tally.check(isAlive, 'the server is alive')
tally.check(counts.asked >= options.requests, `${counts.asked} requests in ${seconds.toFixed(0)} s`)
tally.check(
  violations.length === 0,
  `no 500, no hang, an id and an envelope on every answer (${violations.length} violations)`,
)
const seen = (table, least) => Object.values(table).filter((times) => times > 0).length >= least
tally.check(seen(counts.statuses, 10) && seen(counts.codes, 15), 'the requests were of many kinds')
if (isAlive) server.kill('SIGTERM')
const exitCode = await server.exited
tally.check(exitCode === 0, `it ends by itself when it is asked to (${exitCode})`)
const errors = readFileSync(logPath, 'utf8')
  .split('\n')
  .filter((line) => /"level":"(error|fatal)"/.test(line))
tally.check(errors.length === 0, `it has logged no error (${errors.length}) ${shown(Buffer.from(errors[0] ?? ''))}`)
const books = await verifyBooks(place)
tally.check(books.ok, `the books add up over ${books.receipts} receipts`)
tally.close()

function shown(bytes) {
  return JSON.stringify(bytes.subarray(0, SHOWN_BYTES).toString('latin1'))
}
