import { describe, expect, it } from 'vitest'
import { contractBench, HOLD } from '../fixtures/ledger/contract-bench.ts'
import { usePostgresHome } from './postgres-bench.ts'
import { postgres } from './postgres-ledger.ts'

/** A node may have judged the account before another node suspended it. */
describe.skipIf(!postgres)('an account that is not active, on PostgreSQL', () => {
  const home = usePostgresHome()
  const bench = contractBench(home)
  const become = (status: string) => home.ledgerState.pool.query('UPDATE accounts SET status = $1', [status])

  it('is refused where the hold is placed, and holds nothing', async () => {
    await bench.credit(HOLD * 3n)
    await bench.admit()
    for (const status of ['suspended', 'closed']) {
      await become(status)
      expect(await bench.refusal()).toEqual({ kind: `account-${status}` })
      expect((await bench.accountStatus()).held).toBe(HOLD)
    }
    await become('active')
    await bench.admit()
    expect((await bench.accountStatus()).held).toBe(HOLD * 2n)
  })
})
