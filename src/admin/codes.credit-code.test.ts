import { randomInt } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openTestLedger, type TestLedger } from '../../test/fixtures/admin/test-ledger.ts'
import { randomFrom } from '../../test/fixtures/lib/seeded-random.ts'
import type { AccountRow } from '../model/ids.ts'
import { createAccount } from './accounts.ts'
import { createCodes, finishRedemptions, redeemCode, withdrawCode } from './codes.ts'
import { verifyLedger } from './ledger-maintenance.ts'

/** CODE_SEED plays one again; CODE_ROUNDS=500 plays more. */
const SEED = Number(process.env.CODE_SEED ?? randomInt(2 ** 31))
const ROUNDS = Number(process.env.CODE_ROUNDS ?? 40)
const ACCOUNTS = ['ada', 'ben', 'cyd'].map((name, index) => ({ name, row: (index + 1) as AccountRow }))
const ENDINGS = ['well', 'before-credit', 'after-credit'] as const

type Ending = (typeof ENDINGS)[number]
const CRASH = 'the process is gone'

/** The same fixture, of a process that dies at one point of redeeming. */
function dyingAt(ending: Ending, { services, ledger }: TestLedger): Parameters<typeof redeemCode>[0] {
  const die = () => Promise.reject(new Error(CRASH))
  const unthrottled = { ...services, redeemTries: { take: () => undefined, giveBack: () => {} } }
  switch (ending) {
    case 'well':
      return unthrottled
    case 'before-credit':
      return { ...unthrottled, ledger: { credit: die } }
    case 'after-credit':
      return { ...unthrottled, ledger: { credit: (order) => ledger.credit(order).then(die) } }
  }
}

it(
  'leaves every code with one owner and one credit, whatever crashes',
  async () => {
    const below = randomFrom(SEED)
    const seen: Record<string, number> = {}
    const count = (what: string) => {
      seen[what] = (seen[what] ?? 0) + 1
    }
    const folder = await mkdtemp(join(tmpdir(), 'millrace-finish-'))
    let fixture = await openTestLedger(folder)
    try {
      for (const { name } of ACCOUNTS) await createAccount(fixture.services, { email: `${name}@example.com` })
      const owners = new Map<string, Set<AccountRow>>()
      for (let round = 0; round < ROUNDS; round++) {
        const made = await createCodes(fixture.services, {
          amount: `${1 + below(9)}.00000000${below(10)}`,
          count: 1,
          note: '',
        })
        if (made.kind === 'refused') throw new Error(made.message)
        const { secret, code } = made.value.items[0]!
        const paid = new Set<AccountRow>()
        owners.set(code.id, paid)
        const act = async (): Promise<void> => {
          if (below(8) === 0) return count(`withdraw ${(await withdrawCode(fixture.services, { code: code.id })).kind}`)
          const { row } = ACCOUNTS[below(ACCOUNTS.length)]!
          const ending = ENDINGS[below(ENDINGS.length)]!
          try {
            const outcome = await redeemCode(dyingAt(ending, fixture), row, { code: secret })
            if (outcome.kind === 'done') paid.add(row)
            count(`${ending} ${outcome.kind}`)
          } catch (error) {
            if ((error as Error).message !== CRASH) throw error
            count(`${ending} died`)
          }
        }
        await Promise.all(Array.from({ length: 1 + below(5) }, act))
        if (below(8) === 0) {
          await fixture.close()
          fixture = await openTestLedger(folder)
          count('restart')
        }
        if (below(4) === 0) await finishAll(fixture, count)
      }
      await finishAll(fixture, count)
      await expectOneOwnerEach(fixture, owners)
    } catch (error) {
      throw new Error(`CODE_SEED=${SEED} CODE_ROUNDS=${ROUNDS}`, { cause: error })
    } finally {
      await fixture.close()
      await rm(folder, { recursive: true })
    }
    console.info(`codes: seed ${SEED}, ${ROUNDS} rounds, ${JSON.stringify(seen)}`)
  },
  30_000 + ROUNDS * 1000,
)

async function finishAll(fixture: TestLedger, count: (what: string) => void): Promise<void> {
  const finished = await finishRedemptions({
    ...fixture.services,
    onUnfinished: (code, reason) => expect.unreachable(`${code}: ${reason}`),
  })
  count(finished > 0 ? 'finished some' : 'finished none')
}

async function expectOneOwnerEach(fixture: TestLedger, owners: Map<string, Set<AccountRow>>): Promise<void> {
  const { db } = fixture.database
  const transfers = await db.selectFrom('transfers').select(['ref', 'account', 'amount_nano']).execute()
  const codes = await db.selectFrom('codes').selectAll().execute()
  for (const code of codes) {
    const credits = transfers.filter(({ ref }) => ref === `code:${code.id}`)
    const due = code.redeemed_by === null ? [] : [{ account: code.redeemed_by, amount_nano: code.amount_nano }]
    expect(credits).toMatchObject(due)
    expect(credits).toHaveLength(due.length)
    expect((code.redeemed_at === null) === (code.credited_at === null)).toBe(true)
    // Every reported owner is the owner.
    for (const owner of owners.get(code.id) ?? []) expect(owner).toBe(code.redeemed_by)
  }
  for (const { row } of ACCOUNTS) {
    const theirs = codes.filter(({ redeemed_by }) => redeemed_by === row)
    const worth = theirs.reduce((sum, { amount_nano }) => sum + amount_nano, 0n)
    expect((await fixture.ledger.accountStatus(row)).balance).toBe(worth)
  }
  expect(await verifyLedger(fixture.services)).toMatchObject({ value: { ok: true, frozen: [] } })
}
