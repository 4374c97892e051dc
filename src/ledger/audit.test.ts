import { describe, expect, it } from 'vitest'
import { insertAccount } from '../../test/fixtures/db/set-up.ts'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { settlement } from '../../test/fixtures/model/ending.ts'
import { findAccountByEmail, listFrozen } from '../db/accounts.ts'
import { findProof } from '../db/verify.ts'
import { secureRandom } from '../lib/random-id.ts'
import { type AccountRow, mintAccountId } from '../model/ids.ts'

const bench = useLedger()

/** A row of a window, far behind those of wallets. */
const PERIOD = 5_000_000_000_000

const turnOf = async (cost: bigint) => (await bench.admit()).settle(settlement(cost))
const since = () => bench.ledger.audit({ whole: false })
const whole = () => bench.ledger.audit({ whole: true })

/** A second account with money, which no trouble of the first may touch. */
async function neighbour(): Promise<AccountRow> {
  const { database, ledger } = bench
  await insertAccount(database.file, { id: mintAccountId(secureRandom), email: 'b@example.com', createdAt: 1 })
  const account = (await findAccountByEmail(database.db, 'b@example.com'))?.row as AccountRow
  await ledger.credit({ account, kind: 'credit', amount: (HOLD * 10n) as never, reason: 'test', ref: 'b' })
  return account
}

describe('an audit', () => {
  it('reads only what has come since the last one, and still proves every balance', async () => {
    await bench.credit(HOLD * 50n)
    for (const cost of [1n, 2n, 3n]) await turnOf(cost)
    expect(await since()).toMatchObject({ ok: true, receipts: 3, transfers: 1 })
    expect(await since()).toMatchObject({ ok: true, receipts: 0, transfers: 0 })
    const open = await bench.admit()
    await turnOf(4n)
    expect(await since(), 'an open hold is looked at again when it has ended').toMatchObject({ ok: true, receipts: 2 })
    await open.settle(settlement(5n))
    await bench.credit(1n, 'second')
    expect(await since()).toMatchObject({ ok: true, receipts: 2, transfers: 1 })
    expect((await findProof(bench.database.db)).receipt).toBe(5)
    expect(await whole()).toMatchObject({ ok: true, receipts: 5, transfers: 2 })
  })

  it('goes on from its mark in the next process', async () => {
    await bench.credit(HOLD * 50n)
    await turnOf(1n)
    await since()
    await bench.reopen()
    await turnOf(2n)
    expect(await since()).toMatchObject({ ok: true, receipts: 1 })
  })

  it('freezes the account that does not add up, and no other, over a restart too', async () => {
    await bench.credit(HOLD * 50n)
    const other = await neighbour()
    await turnOf(1n)
    await since()
    await turnOf(2n)
    await bench.run('UPDATE buckets SET posted_nano = posted_nano + 1 WHERE row = 3')
    const report = await since()
    expect(report).toMatchObject({ ok: false, suspects: [bench.account] })
    expect((await findProof(bench.database.db)).receipt, 'what is broken is not proved').toBe(1)
    for (const restart of [false, true]) {
      if (restart) await bench.reopen()
      expect(await bench.ledger.admit(bench.request())).toMatchObject({ refusal: { kind: 'frozen' } })
      const served = await bench.admit({ account: other })
      expect(await served.settle(settlement(3n))).toMatchObject({ kind: 'settled' })
    }
    expect(await listFrozen(bench.database.db)).toHaveLength(1)

    await bench.run('UPDATE buckets SET posted_nano = posted_nano - 1 WHERE row = 3')
    await bench.reopen()
    expect(await since(), 'a look at a part lifts nothing').toMatchObject({ ok: true })
    expect(await listFrozen(bench.database.db)).toHaveLength(1)
    expect(await whole()).toMatchObject({ ok: true })
    expect((await bench.admit()).kind).toBe('admitted')
  })

  it('is not waited for: a hold that its balances do not have freezes the account at its end, and the server starts', async () => {
    await bench.credit(HOLD * 50n)
    const other = await neighbour()
    const [running, lost] = [await bench.admit(), await bench.admit()]
    await Promise.all([running.durable, lost.durable])
    await bench.run('UPDATE buckets SET held_nano = 1 WHERE row = 3')
    await bench.reopen()
    expect(bench.ledger).toMatchObject({ gate: { open: true }, openHolds: 2 })
    expect(bench.failures, 'reported once').toEqual([expect.objectContaining({ name: 'BrokenRule' })])
    expect(await bench.ledger.sweep()).toBe(0)
    expect(await bench.ledger.admit(bench.request())).toMatchObject({ refusal: { kind: 'frozen' } })
    expect(await bench.ledger.admit(bench.request({ account: other }))).toMatchObject({ kind: 'admitted' })
    await expect.poll(() => listFrozen(bench.database.db)).toEqual([expect.objectContaining({ row: bench.account })])
    expect(bench.failures).toHaveLength(1)

    await bench.run(`UPDATE buckets SET held_nano = ${2n * HOLD} WHERE row = 3`)
    await bench.reopen()
    expect(bench.recovered, 'of both accounts').toBe(3)
    expect(await whole()).toMatchObject({ ok: true })
    expect(await listFrozen(bench.database.db)).toEqual([])
  })

  it('lets a turn that runs on a frozen account end, and charges it', async () => {
    await bench.credit(HOLD * 50n)
    const running = await bench.admit()
    await running.durable
    await bench.run('UPDATE buckets SET held_nano = held_nano + 1 WHERE row = 3')
    expect(await whole()).toMatchObject({ ok: false, suspects: [bench.account] })
    expect(await running.settle(settlement(7n))).toMatchObject({ kind: 'settled', charge: 7n })
  })

  it('finds what moved on a period after it was closed', async () => {
    const transfer = (row: number, kind: string, amount: number, at: number) => [
      `INSERT INTO transfers VALUES (${row}, '${kind}', 'quota', ${bench.account}, '${row}', 'why', ${amount}, ${at}, ${row}, NULL)`,
      `INSERT INTO entries VALUES (${row}, 0, ${PERIOD}, ${amount}), (${row}, 1, ${kind === 'grant' ? -11 : -13}, ${-amount})`,
    ]
    const inTurn = async (statements: readonly string[]) => {
      for (const statement of statements) await bench.run(statement)
    }
    await inTurn([
      `INSERT INTO buckets VALUES (${PERIOD}, 'quota', 'window', ${bench.account}, '5h', 1, 2, NULL, 50, 0)`,
      ...transfer(1, 'grant', 50, 1),
    ])
    expect(await since()).toMatchObject({ ok: true, accounts: 1, transfers: 1 })
    await inTurn([
      `UPDATE buckets SET posted_nano = 0, closed_at = 2 WHERE row = ${PERIOD}`,
      ...transfer(2, 'expiry', -50, 2),
    ])
    expect(await since()).toMatchObject({ ok: true, transfers: 1 })
    await inTurn(transfer(3, 'grant', 7, 3))
    const brokenRules = ({ checks }: Awaited<ReturnType<typeof since>>) =>
      checks.filter(({ violations }) => violations > 0).map(({ name }) => name)
    const report = await since()
    expect(report).toMatchObject({ ok: false, suspects: [bench.account] })
    expect(brokenRules(report)).toEqual(['a transfer moves a bucket of its account, before that is closed'])
    const all = await whole()
    expect(all).toMatchObject({ ok: false, suspects: [bench.account] })
    expect(brokenRules(all)).toContain('posted is the sum of entries')
  })
})
