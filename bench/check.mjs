// Compares the counts of `footprint` with the recorded ones in `counts.json`: a change that makes a request run more code, allocate more
// memory or write more rows fails here. Counts do not depend on the machine's load.
//
//   npm run bench -- check             exits with 1 if a count is larger than recorded
//   npm run bench -- check --record    records the counts of this build
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { filesOf, measureFootprint } from './lib/footprint.mjs'

const { values: options } = parseArgs({ options: { record: { type: 'boolean', default: false } } })
const FILE = new URL('counts.json', import.meta.url)
/** Allocations are sampled, and on a busy machine every request may run into a wait that a quiet one does not have. */
const SLACK = { functions: 1.06, files: 1.03, kilobytes: 1.1, messages: 1.1, rows: 1.1 }

/** A machine that is busy for a while makes turns wait where they would not: a count that is too large is taken again. */
const ATTEMPTS = 3

const nodeMajor = Number(process.versions.node.split('.')[0])
const round = (value) => Math.round(value * 10) / 10

async function countAll() {
  const { streams, json } = await measureFootprint({ requests: 1000, warmUp: 1500 })
  const [chat, responses] = streams.map(({ functions }) => functions)
  return {
    chat: { functions: chat.length, files: filesOf(chat) },
    responsesOverChat: { functions: responses.length, files: filesOf(responses) },
    json: {
      kilobytes: round(json.millrace.kilobytes),
      // Whether the hold and the end of a turn meet in one commit is chance.
      messages: Math.round(json.millrace.messages),
      rows: Math.round(json.millrace.rows),
    },
  }
}

const mostOf = (recorded, request, what) => recorded[request][what] * (SLACK[what] ?? 1)

const isAbove = (counted, recorded) =>
  Object.entries(counted).some(([request, counts]) =>
    Object.entries(counts).some(([what, count]) => count > mostOf(recorded, request, what)),
  )

let counted = await countAll()
if (options.record) {
  writeFileSync(FILE, `${JSON.stringify({ nodeMajor, ...counted }, null, 2)}\n`)
  console.log('Recorded:', counted)
} else {
  const recorded = JSON.parse(readFileSync(FILE, 'utf8'))
  for (let attempt = 1; attempt < ATTEMPTS && isAbove(counted, recorded); attempt++) counted = await countAll()
  let failed = 0
  let passed = 0
  // V8 allocates more for the same code in other versions.
  const compared = recorded.nodeMajor === nodeMajor ? Object.entries(counted) : []
  if (compared.length === 0) console.log(`Not compared: the counts were recorded on Node ${recorded.nodeMajor}.`)
  for (const [request, counts] of compared) {
    for (const [what, count] of Object.entries(counts)) {
      const most = mostOf(recorded, request, what)
      if (count <= most) passed += 1
      else failed += 1
      const verdict = count <= most ? 'ok  ' : 'FAIL'
      console.log(`${verdict} ${request} ${what}: ${count}, recorded ${recorded[request][what]}`)
    }
  }
  if (failed > 0) console.log('Make the request lighter, or record the counts with --record and say in the commit why.')
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}
