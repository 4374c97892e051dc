import { describe } from 'vitest'
import { allowancesContract } from '../../src/ledger/contract-allowances.fixture.ts'
import { contractBench } from '../../src/ledger/contract-bench.fixture.ts'
import { moneyContract } from '../../src/ledger/contract-money.fixture.ts'
import { postgres } from './postgres-books.ts'
import { usePostgresHome } from './postgres-home.ts'

/** PostgreSQL: the database decides. The sentences are those that SQLite is asked in src/ledger. */
describe.skipIf(!postgres)('the contract of the ledger, on PostgreSQL', () => {
  const bench = contractBench(usePostgresHome())
  moneyContract(bench)
  allowancesContract(bench)
})
