// How long the server takes from its start until it answers `/readyz`, with a data folder that is there, and what memory it has ten
// seconds later, without a request.
//
//   npm run bench -- start [--rounds 7]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createAccount, placeIn, startServer } from '../test/program/program.mjs'
import { describeMachine, median } from './lib/measure.mjs'
import { memoryMb } from './lib/memory.mjs'
import { mockConfig } from './lib/mock-config.mjs'

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } })
const IDLE_MS = 10_000

const folder = mkdtempSync(join(tmpdir(), 'millrace-bench-'))
try {
  console.log(`# start: ${describeMachine()}\n`)
  const place = placeIn(folder)
  writeFileSync(place.config, mockConfig(9, ['json'], { maxOutputTokens: 4096 }))
  await createAccount(place, { email: 'bench@localhost' })
  const starts = []
  const memory = []
  for (let round = 0; round < Number(values.rounds); round++) {
    const began = performance.now()
    const server = startServer(place)
    const url = await server.ready
    while (!(await fetch(new URL('/readyz', url))).ok) await sleep(5)
    starts.push(performance.now() - began)
    await sleep(IDLE_MS)
    memory.push(memoryMb(server.pid))
    server.kill()
    await server.ended
  }
  console.log(`ready after ${median(starts).toFixed(0)} ms (${starts.map((ms) => ms.toFixed(0)).join(', ')})`)
  console.log(`idle: ${median(memory).toFixed(0)} MB (${memory.map((mb) => mb.toFixed(0)).join(', ')})`)
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
