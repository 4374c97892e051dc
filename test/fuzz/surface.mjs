// The whole HTTP surface, asked by a grammar that is wrong in one or two places at a time: heads, paths, headers, bodies, framing.
// Nothing of it may crash the server, hang, or be answered with a 500, and every answer has its id and our envelope.
//
//   node test/fuzz/surface.mjs [--requests 200000] [--seed N] [--connections 16] [--seconds-max 900] [--keep FILE] [--cover FILE]
//
// The requests of corpus/surface.jsonl come first. `--keep` adds those that fail to a file of this form, `--cover` writes the shortest
// request for each status and code.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOptions } from '../program/options.mjs'
import { createAccount, createKey, placeIn, startServer, verifyLedger } from '../program/program.mjs'
import { createRandom } from '../program/random.mjs'
import { createTally } from '../program/tally.mjs'
import { CONFIG_TEXT } from './lib/config-text.mjs'
import { openConnection } from './lib/connection.mjs'
import { createCover, entryOfRequest, readEntries, requestOfEntry, writeEntries } from './lib/corpus.mjs'
import { judge } from './lib/judge.mjs'
import { composeRequest } from './lib/request-grammar.mjs'

const SHOWN_MAX = 12
/** Each has luck of its own, whichever way the others take. */
const CLIENTS_MAX = 1000
/** Of a request that may be megabytes long. */
const SHOWN_BYTES = 600

const CORPUS = fileURLToPath(new URL('corpus/surface.jsonl', import.meta.url))

const options = readOptions({ requests: 200_000, connections: 16, 'seconds-max': 900, keep: '', cover: '' })
const tally = createTally()
const folder = mkdtempSync(join(tmpdir(), 'millrace-fuzz-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const place = placeIn(folder, options)
const logPath = join(folder, 'server.log')
writeFileSync(place.config, CONFIG_TEXT)
await createAccount(place, { email: 'fuzz@example.com' })
const { key } = await createKey(place, { email: 'fuzz@example.com' })
const server = startServer(place, { logPath })
const port = Number(new URL(await server.ready).port)

const counts = { receivedRequest: 0, answers: 0, closed: 0, kinds: {}, statuses: {}, codes: {} }
const violations = []
const until = performance.now() + options['seconds-max'] * 1000
let left = options.requests

const count = (table, what) => {
  table[what] = (table[what] ?? 0) + 1
}

/** One client: a request after the other, on one connection for as long as that lasts. */
async function sendTurn(number) {
  const own = createRandom(options.seed * CLIENTS_MAX + number)
  let connection
  while (left > 0 && performance.now() < until && !server.isOver) {
    left -= 1
    const request = composeRequest(own, { key, port })
    if (connection === undefined || connection.isOver) connection = await openConnection(port)
    await play(connection, request)
    counts.receivedRequest += 1
  }
  connection?.close()
}

const cover = createCover()

async function play(connection, request) {
  const came = await connection.exchange(request)
  count(counts.kinds, request.kind)
  if (came.closed) counts.closed += 1
  for (const answer of came.answers) {
    counts.answers += 1
    count(counts.statuses, answer.status)
  }
  const { found, codes } = judge(request, came)
  for (const code of codes) count(counts.codes, code)
  for (const what of found) violations.push({ what, request, came })
  // One answer is a state of its own only where the request was one.
  if (came.answers.length <= 1) cover.see(`${came.answers[0]?.status ?? 'closed'} ${codes[0] ?? ''}`.trim(), request)
}

/** Each on a connection of its own. */
async function playCorpus() {
  const kept = readEntries(CORPUS)
  for (const entry of kept) {
    const connection = await openConnection(port)
    await play(connection, requestOfEntry(entry, { key }))
    connection.close()
  }
  return kept.length
}

const kept = await playCorpus()
tally.check(kept > 0 && violations.length === 0, `${kept} kept requests are answered as they should be`)
const from = performance.now()
console.log(`seed ${options.seed}: ${options.requests} requests over ${options.connections} connections`)
await Promise.all(Array.from({ length: options.connections }, (_, number) => sendTurn(number)))
const seconds = (performance.now() - from) / 1000

console.log(JSON.stringify(counts))
for (const { what, request, came } of violations.slice(0, SHOWN_MAX)) {
  const bytes = Buffer.concat(request.pieces)
  console.log(`\n${what}\n  ${request.kind}: ${shown(bytes)}`)
  const { before, failure = 'none' } = came
  console.log(`  ${bytes.length} bytes in ${request.pieces.length} pieces; before it ${before}; error ${failure}`)
  for (const { raw } of came.answers) console.log(`  answered: ${shown(raw)}`)
}
const isAlive = !server.isOver
tally.check(isAlive, 'the server is alive')
tally.check(counts.receivedRequest >= options.requests, `${counts.receivedRequest} requests in ${seconds.toFixed(0)} s`)
tally.check(
  violations.length === 0,
  `no 500, no hang, an id and an envelope on every answer (${violations.length} violations)`,
)
const seen = (table, least) => Object.values(table).filter((times) => times > 0).length >= least
tally.check(seen(counts.statuses, 10) && seen(counts.codes, 15), 'the requests were of many kinds')
if (isAlive) server.kill('SIGTERM')
const { code: exitCode } = await server.ended
tally.check(exitCode === 0, `it ends by itself when it is asked to (${exitCode})`)
const errors = readFileSync(logPath, 'utf8')
  .split('\n')
  .filter((line) => /"level":"(error|fatal)"/.test(line))
tally.check(errors.length === 0, `it has logged no error (${errors.length}) ${shown(Buffer.from(errors[0] ?? ''))}`)
const books = await verifyLedger(place)
tally.check(books.ok, `the books add up over ${books.receipts} receipts`)
if (options.cover !== '') {
  const entries = cover.states().map(([state, { request }]) => entryOfRequest(state, request, { key }))
  writeEntries(options.cover, entries)
}
if (options.keep !== '' && violations.length > 0) {
  const failed = violations.slice(0, SHOWN_MAX).map(({ what, request }) => entryOfRequest(what, request, { key }))
  writeEntries(options.keep, [...readEntries(options.keep), ...failed])
}
tally.close()

function shown(bytes) {
  return JSON.stringify(bytes.subarray(0, SHOWN_BYTES).toString('latin1'))
}
