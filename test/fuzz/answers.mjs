// What clients are told, beside what a scripted model has said: four wires, two protocols, streams and JSON, with a provider whose
// answers are cut, doubled, shuffled, broken off and spoiled on the way. Each answer says the same, or fails in its client's protocol.
//
//   node test/fuzz/answers.mjs [--calls 5000] [--seed N] [--connections 16] [--only NUMBER] [--dist FOLDER] [--keep FILE] [--cover FILE]
//
// The answers of corpus/answers.jsonl come first. `--keep` adds those of findings to a file of this form, `--cover` writes the shortest
// one for each kind of damage and its outcome.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runnerImport } from 'vite'
import { readOptions } from '../program/options.mjs'
import { createAccount, createKey, placeIn, startServer, verifyLedger } from '../program/program.mjs'
import { createTally } from '../program/tally.mjs'
import { createCover, readEntries, writeEntries } from './lib/corpus.mjs'

const SHOWN_MAX = 60
const SHOWN_BYTES = 12000
const CORPUS = fileURLToPath(new URL('corpus/answers.jsonl', import.meta.url))
/** Behind all numbers that are drawn. */
const KEPT_FROM = 1_000_000_000
const options = readOptions({ calls: 5000, only: '', connections: 16, keep: '', cover: '' })
/** A call is asked again by its seed and its number. */
const isOne = options.only !== ''
const begin = isOne ? Number(options.only) : 0
const end = isOne ? begin + 1 : options.calls
const tally = createTally()
const folder = mkdtempSync(join(tmpdir(), 'millrace-answers-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

const { module } = await runnerImport(fileURLToPath(new URL('answers/run-answers.ts', import.meta.url)), {
  configFile: false,
  logLevel: 'error',
})
const provider = await module.startProvider()
const place = placeIn(folder, options)
const logPath = join(folder, 'server.log')
writeFileSync(place.config, module.configFor(provider.port))
await createAccount(place, { email: 'fuzz@example.com', credit: '100000.00' })
const { key } = await createKey(place, { email: 'fuzz@example.com' })
const server = startServer(place, { logPath })
const url = await server.ready

const stage = { provider, url, key, seed: options.seed }
const cover = createCover()
const kept = isOne ? [] : readEntries(CORPUS)
const failed = []
for (const [at, entry] of kept.entries()) {
  const played = await module.playScript(stage, module.scriptOfEntry(entry, KEPT_FROM + at))
  if (played.verdict.finding !== undefined) failed.push(played)
}
if (!isOne)
  tally.check(kept.length > 0 && failed.length === 0, `${kept.length} kept answers say what was said or have failed`)
for (const played of failed.slice(0, SHOWN_MAX)) show(played)

const from = performance.now()
console.log(`seed ${options.seed}: ${options.calls} calls over ${options.connections} connections`)
const coverage = new Map()
const findings = []
const counts = { equal: 0, failed: 0, finding: 0, undamaged: 0 }
let next = begin
await Promise.all(Array.from({ length: options.connections }, playCalls))
const seconds = (performance.now() - from) / 1000

async function playCalls() {
  while (next < end && !server.isOver) {
    const played = await module.playCall(stage, next++)
    count(played)
    if (played.verdict.finding !== undefined || isOne) findings.push(played)
  }
}

function count({ script, verdict: { outcome } }) {
  const { wire, protocol, delivery, damages, cut } = script
  counts[outcome] += 1
  for (const what of damages) if (damages.length === 1) cover.see(`${what}, ${wire}: ${outcome}`, script)
  if (damages.length === 0) counts.undamaged += 1
  for (const what of [...(damages.length === 0 ? ['no damage'] : damages), `cut: ${cut}`]) {
    const row = coverage.get(what) ?? {}
    const cell = `${wire} to ${protocol}, ${delivery}`
    row[cell] ??= { equal: 0, failed: 0, finding: 0 }
    row[cell][outcome] += 1
    coverage.set(what, row)
  }
}

function printCoverage() {
  console.log('What was damaged, by wire, protocol and delivery: how many were equal/failed')
  for (const [what, row] of [...coverage].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const cells = Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1))
    const parts = cells.map(([cell, { equal, failed }]) => `${cell} ${equal}/${failed}`)
    console.log(`  ${what}: ${parts.join('; ')}`)
  }
}

function show({ script, verdict, answer, meant, sent }) {
  const { number, wire, protocol, delivery, choices, damages, cut, breaks } = script
  console.log(`\n${verdict.finding ?? verdict.outcome}  (--seed ${options.seed} --only ${number})`)
  console.log(
    `  ${wire} to ${protocol}, ${delivery}, ${choices} choices; ${damages.join(' and ') || 'no damage'}; cut: ${cut}`,
  )
  console.log(`  ${breaks ? 'the connection breaks; ' : ''}meant: ${JSON.stringify(meant)}`)
  if (sent !== undefined)
    console.log(`  asked: ${sent.replaceAll('word ', '').slice(0, SHOWN_BYTES)} (${answer.ignored})`)
  console.log(`  provider: ${shown(script.bytes)}\n  client: ${answer.status} ${shown(answer.body)}`)
}

function shown(bytes) {
  return JSON.stringify(bytes.subarray(0, SHOWN_BYTES).toString('utf8'))
}

printCoverage()
for (const finding of findings.slice(0, SHOWN_MAX)) show(finding)
console.log(JSON.stringify(counts))
tally.check(!server.isOver, 'the server is alive')
tally.check(next === end, `${end - begin} calls in ${seconds.toFixed(0)} s`)
tally.check(counts.finding === 0, `every answer says what was said or has failed (${counts.finding} findings)`)
if (!isOne) tally.check(counts.equal > 0 && counts.failed > 0 && counts.undamaged > 0, 'all kinds were met')
const entriesOf = (scripts) => scripts.map(([name, script]) => module.entryOfScript(name, script))
if (options.cover !== '')
  writeEntries(options.cover, entriesOf(cover.states().map(([state, { request }]) => [state, request])))
if (options.keep !== '' && findings.length > 0) {
  const found = entriesOf(findings.slice(0, SHOWN_MAX).map(({ script, verdict }) => [verdict.finding, script]))
  writeEntries(options.keep, [...readEntries(options.keep), ...found])
}
provider.close()
server.kill('SIGTERM')
const { code } = await server.ended
tally.check(code === 0, `it ends by itself when it is asked to (${code})`)
const errors = readFileSync(logPath, 'utf8')
  .split('\n')
  .filter((line) => /"level":"(error|fatal)"/.test(line))
tally.check(errors.length === 0, `it has logged no error (${errors.length}) ${errors[0] ?? ''}`)
const books = await verifyLedger(place)
tally.check(books.ok, `the books add up over ${books.receipts} receipts`)
tally.close()
