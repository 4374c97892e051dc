// The ledger alone over a real file, and requests to it as turns make them.

import { accountInserts, listAccounts } from '../../dist/db/accounts.js'
import { openLedger } from '../../dist/ledger/open-ledger.js'
import { recordPrices } from '../../dist/ledger/prices.js'
import { systemClock } from '../../dist/lib/clock.js'
import { secureRandom } from '../../dist/lib/random-id.js'
import { mintAccountId, mintRequestId } from '../../dist/model/ids.js'

export const PRICE = {
  input: 1_000_000n,
  cachedInput: 100_000n,
  cacheWrite: 1_000_000n,
  output: 5_000_000n,
  perRequest: 0n,
  tiers: [],
}
const TERMS = { inputPico: 200n * 1_000_000n, outputPicoPerToken: 5_000_000n, perRequest: 0n }
export const ENDING = {
  outcome: 'completed',
  owed: {
    usage: { uncachedInput: 40, cachedInput: 0, cacheWrite: 0, output: 24, reasoning: 0, estimated: false },
    tier: 0,
    cost: 160_000n,
  },
  lane: 'demo/demo',
  attempts: [{ lane: 'demo/demo', outcome: 'finished', status: 200, ms: 339 }],
  firstByteMs: 12,
  totalMs: 340,
  compaction: undefined,
  kept: false,
}
const CREDIT = 1_000_000_000_000_000n

export const openBenchLedger = ({ db, lowPriorityDb, file, journal }, batchRecorded = () => {}) =>
  openLedger({
    db,
    lowPriorityDb,
    file,
    journal,
    clock: systemClock,
    markIntervalMs: 100,
    observer: {
      batchRecorded,
      batchFailed: (error) => console.error(error),
      recovered() {},

      accountUnbalanced() {},
    },
  })

/** Accounts with money, and the price that their requests name. Returns their rows. */
export async function openAccounts(database, count) {
  for (let index = 0; index < count; index++) {
    const email = `bench-${index}@localhost`
    await database.file.atomic(accountInserts({ id: mintAccountId(secureRandom), email, createdAt: 1 }))
  }
  await recordPrices({ db: database.db, now: () => 1 }, new Map([['demo', PRICE]]))
  const accounts = (await listAccounts(database.db, { after: 0, limit: count })).map(({ row }) => row)
  const ledger = await openBenchLedger(database)
  const credit = (account) =>
    ledger.credit({ account, kind: 'credit', amount: CREDIT / BigInt(count), reason: 'bench', ref: 'bench' })
  await Promise.all(accounts.map(credit))
  await ledger.close()
  return accounts
}

/** As a request does: admits, waits for the hold, settles, waits for the charge. */
export const sendRequest = async (ledger, payer) => settleTurn(await openTurn(ledger, payer))

/** Its hold is durable. */
export async function openTurn(ledger, payer) {
  const turn = await ledger.admit({
    requestId: mintRequestId(systemClock.now(), secureRandom),
    key: 1,
    kind: 'wallet',
    model: 'demo',
    priceVersion: 1,
    terms: TERMS,
    clientCap: 100,
    modelCap: 4096,
    chosenCap: { tokensMin: 1, sharePercent: 100 },
    choices: 1,
    inputEstimate: 40,
    cachedEstimate: 0,
    limits: [],
    allowances: [],
    claim: undefined,
    ...payer,
  })
  if (turn.kind !== 'admitted' || (await turn.durable) !== 'durable') throw new Error('not admitted')
  return turn
}

export async function settleTurn(turn) {
  const settled = await turn.settle(ENDING)
  if (settled.kind !== 'settled') throw new Error(`not settled: ${settled.kind}`)
  turn.detach()
}

/** Each of the workers sends one after the other. */
export async function sendRequests(ledger, { accounts, concurrent, requests }) {
  let left = requests
  const worker = async () => {
    while (left-- > 0) await sendRequest(ledger, { account: accounts[left % accounts.length] })
  }
  await Promise.all(Array.from({ length: concurrent }, worker))
}

/** What it takes of all threads of the process, in microseconds a request. */
export async function measureCpu(ledger, load) {
  const before = process.cpuUsage()
  const started = performance.now()
  await sendRequests(ledger, load)
  const { user, system } = process.cpuUsage(before)
  return { cpu: (user + system) / load.requests, rate: load.requests / ((performance.now() - started) / 1000) }
}
