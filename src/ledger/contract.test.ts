import { describe, expect } from 'vitest'
import { allowancesContract } from '../../test/fixtures/ledger/contract-allowances.ts'
import { compactionOf, contractBench, type LedgerHome } from '../../test/fixtures/ledger/contract-bench.ts'
import { moneyContract } from '../../test/fixtures/ledger/contract-money.ts'
import { useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { findReceipt } from '../db/receipts.ts'
import { systemClock } from '../lib/clock.ts'
import { verifyLedgerState } from './verify.ts'

/** SQLite: the reducer decides, the file records. test/postgres runs the same contract on PostgreSQL. */
function useSqliteHome(): LedgerHome {
  const bench = useLedger()
  const crash = async () => {
    bench.recovered = 0
    await bench.reopen()
  }
  return {
    get ledger() {
      return bench.ledger
    },
    get account() {
      return bench.account
    },
    get recovered() {
      return bench.recovered
    },
    crash,
    async advance(ms) {
      bench.clock.aheadMs += ms
      bench.clock.aheadMicros += ms * 1000
    },
    now: async () => systemClock.now() + bench.clock.aheadMs,
    async receipt(requestId) {
      const found = await findReceipt(bench.database.db, requestId)
      if (!found) return undefined
      const { state, outcome, output, charge_nano: charge, shortfall_nano: shortfall } = found
      const estimated = found.estimated === null ? null : found.estimated === 1
      const compaction = compactionOf(found.tokens_before, found.tokens_after)
      return { state, outcome, output, estimated, charge, shortfall, compaction }
    },
    async untilMarked() {
      const marks = async () => (await bench.database.file.all('SELECT packed FROM marks', [])).length
      await expect.poll(marks).toBe(1)
    },
    async freeze() {
      await bench.run('UPDATE accounts SET frozen_at = 1')
      await crash()
    },
    violations: async () => (await verifyLedgerState({ db: bench.database.db })).report.violations,
  }
}

describe('the contract of the ledger, on SQLite', () => {
  const bench = contractBench(useSqliteHome())
  moneyContract(bench)
  allowancesContract(bench)
})
