// What money costs: CPU per request (all threads of the process) and row writes per request of the ledger alone, with a
// wallet key. Real SQLite, synchronous=FULL, in its worker thread.
//
//   npm run bench -- ledger [requests]                                     one account, by concurrent requests
//   npm run bench -- ledger [requests] --receipts N [--rounds 5] [--verify] an empty file beside one with N receipts
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compareConcurrency } from './lib/compare-ledger-concurrency.mjs'
import { compareSizes } from './lib/compare-ledger-sizes.mjs'
import { describeMachine } from './lib/measure.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { receipts: { type: 'string' }, rounds: { type: 'string' }, verify: { type: 'boolean' } },
})
const requests = Number(positionals[0] ?? 20_000)

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
try {
  console.log(`# ledger: ${describeMachine()}`)
  if (values.receipts === undefined) await compareConcurrency({ folder, requests, rounds: Number(values.rounds ?? 3) })
  else {
    const [receipts, rounds] = [Number(values.receipts), Number(values.rounds ?? 5)]
    await compareSizes({ folder, requests, receipts, rounds, verify: values.verify === true })
  }
} finally {
  await rm(folder, { recursive: true })
}
