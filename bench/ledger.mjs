// What money costs: CPU per request (all threads of the process) and row writes per request of the ledger alone, for one
// account with a wallet key, at 8 and at 64 concurrent requests. Real SQLite, synchronous=FULL, in its worker thread.
//
//   npm run bench -- ledger [requests]
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openLedger } from '../dist/ledger/open-ledger.js'
import { recordPrices } from '../dist/ledger/record-prices.js'
import { systemClock } from '../dist/lib/clock.js'
import { secureRandom } from '../dist/lib/random-id.js'
import { mintAccountId, mintRequestId } from '../dist/model/ids.js'
import { findAccountByEmail, insertAccount } from '../dist/store/accounts.js'
import { openDatabase } from '../dist/store/open-database.js'
import { describeMachine, median } from './lib/measure.mjs'

const REQUESTS = Number(process.argv[2] ?? 20_000)
const ROUNDS = 3
const WARM_UP = 4000

const PRICE = {
  input: 1_000_000n,
  cachedInput: 100_000n,
  cacheWrite: 1_000_000n,
  output: 5_000_000n,
  perRequest: 0n,
  tiers: [],
}
const TERMS = { inputPico: 200n * 1_000_000n, outputPicoPerToken: 5_000_000n, perRequest: 0n }
const SETTLEMENT = {
  outcome: 'completed',
  lane: 'demo/demo',
  firstByteMs: 12,
  totalMs: 340,
  attempts: [{ lane: 'demo/demo', outcome: 'finished', status: 200, ms: 339 }],
  usage: { uncachedInput: 40, cachedInput: 0, cacheWrite: 0, output: 24, reasoning: 0, estimated: false },
  tier: 0,
  cost: 160_000n,
}

const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'))
try {
  console.log(`# ledger: ${describeMachine()}`)
  console.log(
    `${REQUESTS} requests a round, ${ROUNDS} rounds, median; synchronous=FULL, one account, wallet, no Idempotency-Key\n`,
  )
  console.log('| concurrent | CPU us/request | requests/s | row writes/request | commits | requests/commit |')
  console.log('|---|---|---|---|---|---|')
  for (const concurrent of [1, 8, 64, 256]) console.log(await measure(concurrent))
} finally {
  await rm(folder, { recursive: true })
}

async function measure(concurrent) {
  const database = await openDatabase({ path: join(folder, `ledger-${concurrent}.db`), clock: systemClock })
  let commits = 0
  const ledger = await openLedger({
    db: database.db,
    file: database.file,
    clock: systemClock,
    markIntervalMs: 100,
    observer: {
      batchRecorded: () => commits++,
      batchFailed: (error) => console.error(error),
      recovered() {},
      clockBehind() {},
    },
  })
  await insertAccount(database.file, { id: mintAccountId(secureRandom), email: 'bench@localhost', createdAt: 1 })
  const account = (await findAccountByEmail(database.db, 'bench@localhost')).row
  await recordPrices({ db: database.db, now: () => 1 }, new Map([['demo', PRICE]]))
  await ledger.credit({ account, kind: 'credit', amount: 1_000_000_000_000_000n, reason: 'bench', ref: 'bench' })

  await run(ledger, account, concurrent, Math.min(WARM_UP, REQUESTS))
  const rounds = []
  for (let round = 0; round < ROUNDS; round++) {
    const requests = concurrent === 1 ? Math.ceil(REQUESTS / 10) : REQUESTS
    const before = await rowWrites(database)
    const commitsBefore = commits
    const cpu = process.cpuUsage()
    const started = performance.now()
    await run(ledger, account, concurrent, requests)
    const used = process.cpuUsage(cpu)
    rounds.push({
      cpu: (used.user + used.system) / requests,
      rate: requests / ((performance.now() - started) / 1000),
      writes: ((await rowWrites(database)) - before) / requests,
      commits: commits - commitsBefore,
      perCommit: requests / (commits - commitsBefore),
    })
  }
  await ledger.close()
  await database.close()
  const of = (name) => median(rounds.map((round) => round[name]))
  return `| ${concurrent} | ${of('cpu').toFixed(1)} | ${Math.round(of('rate'))} | ${of('writes').toFixed(2)} | ${of('commits')} | ${of('perCommit').toFixed(1)} |`
}

/** Each of the workers admits, waits for the hold, settles, waits for the charge, as a request does. */
async function run(ledger, account, concurrent, requests) {
  let left = requests
  const worker = async () => {
    while (left-- > 0) {
      const turn = await ledger.admit({
        requestId: mintRequestId(systemClock.now(), secureRandom),
        account,
        key: 1,
        kind: 'wallet',
        model: 'demo',
        priceVersion: 1,
        terms: TERMS,
        clientCap: 100,
        modelCap: 4096,
        choices: 1,
        inputEstimate: 40,
        limits: [],
      })
      if (turn.kind !== 'admitted' || (await turn.durable) !== 'durable') throw new Error('not admitted')
      const settled = await turn.settle(SETTLEMENT)
      if (settled.kind !== 'settled') throw new Error(`not settled: ${settled.kind}`)
      turn.leave()
    }
  }
  await Promise.all(Array.from({ length: concurrent }, worker))
}

async function rowWrites(database) {
  const [row] = await database.file.all('SELECT total_changes() AS changes', [])
  return Number(row.changes)
}
