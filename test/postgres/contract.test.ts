import { describe } from 'vitest'
import { allowancesContract } from '../fixtures/ledger/contract-allowances.ts'
import { contractBench } from '../fixtures/ledger/contract-bench.ts'
import { moneyContract } from '../fixtures/ledger/contract-money.ts'
import { usePostgresHome } from './postgres-bench.ts'
import { postgres } from './postgres-ledger.ts'

/** PostgreSQL: the database decides. The contract is that of SQLite in src/ledger. */
describe.skipIf(!postgres)('the contract of the ledger, on PostgreSQL', () => {
  const bench = contractBench(usePostgresHome())
  moneyContract(bench)
  allowancesContract(bench)
})
