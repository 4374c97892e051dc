// What money costs: CPU per request (all threads of the process) and row writes per request of the ledger alone, with a
// wallet key. Real SQLite, synchronous=FULL, in its worker thread.
//
//   npm run bench -- ledger [requests]                                     one account, by concurrent requests
//   npm run bench -- ledger [requests] --receipts N [--rounds 5] [--verify] an empty file beside one with N receipts
//   npm run bench -- ledger [requests] --beside CHECKOUT [--accounts 1000] [--receipts 0] [--rounds 9]
//                                                                           another checkout, built, beside this one
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { compareCheckouts } from './lib/compare-ledger-checkouts.mjs'
import { compareConcurrency } from './lib/compare-ledger-concurrency.mjs'
import { compareSizes } from './lib/compare-ledger-sizes.mjs'
import { describeMachine } from './lib/measure.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    receipts: { type: 'string' },
    rounds: { type: 'string' },
    verify: { type: 'boolean' },
    beside: { type: 'string' },
    accounts: { type: 'string' },
  },
})
const requests = Number(positionals[0] ?? 20_000)

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
try {
  console.log(`# ledger: ${describeMachine()}`)
  if (values.beside !== undefined) {
    const [accounts, receipts, rounds] = [values.accounts ?? 1000, values.receipts ?? 0, values.rounds ?? 9].map(Number)
    await compareCheckouts({ beside: resolve(values.beside), accounts, receipts, requests, rounds })
  } else if (values.receipts === undefined)
    await compareConcurrency({ folder, requests, rounds: Number(values.rounds ?? 3) })
  else {
    const [receipts, rounds] = [Number(values.receipts), Number(values.rounds ?? 5)]
    await compareSizes({ folder, requests, receipts, rounds, verify: values.verify === true })
  }
} finally {
  await rm(folder, { recursive: true })
}
