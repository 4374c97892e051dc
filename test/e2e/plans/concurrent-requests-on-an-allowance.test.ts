import { beforeAll, describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import type { Answer } from '../../support/send-chat.ts'
import { advanceToTuesdayNoon, openSubscriber, spend } from '../../support/subscriber.ts'
import { nanoOf, openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const AT_ONCE = 100

describe('a hundred concurrent requests on an allowance with one percent left', () => {
  const server = useServer({ config: PLANS_CONFIG })
  beforeAll(() => advanceToTuesdayNoon(server()))

  const sendAll = (key: { readonly key: string }) =>
    Promise.all(Array.from({ length: AT_ONCE }, () => spend(server(), key, 2)))

  /** Everybody was either served and charged, or told why not; and what was charged is what left the allowance. */
  async function expectExactly(account: TestAccount, answers: readonly Answer[], served: number, full: 402 | 429) {
    const good = answers.filter(({ status }) => status === 200)
    expect(good).toHaveLength(served)
    const charged = good.reduce((sum, { json }) => sum + nanoOf(json.usage.millrace.charge), 0n)
    expect(charged).toBe(BigInt(served) * 2_000_000n)
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      if (answer.status === full) expectProblem(answer, full === 429 ? codeOf(answer) : 'key_spend_cap_reached')
      else expectProblem(answer, 'balance_in_flight')
    }
    const receipts = await account.receipts()
    expect(receipts.reduce((sum, { shortfall_nano }) => sum + (shortfall_nano ?? 0n), 0n)).toBe(0n)
    return charged
  }
  const codeOf = ({ json }: Answer) =>
    json.error.code === 'balance_in_flight' ? 'balance_in_flight' : 'allowance_exhausted'

  it('serve exactly what fits into every window', async () => {
    const person = await openSubscriber(server(), 'wide', { credit: '1.00' })
    expect((await spend(server(), person.builder, 990)).status).toBe(200)
    expect((await spend(server(), person.builder, 990)).status).toBe(200)
    const before = nanoOf((await person.window('5h')).left)
    expect(before).toBe(20_000_000n)
    const charged = await expectExactly(person, await sendAll(person.builder), 10, 429)
    for (const name of ['5h', 'week']) {
      const after = await person.window(name)
      expect(after).toMatchObject({ used: '2.00', left: '0.00', held: '0.00' })
      expect(before - nanoOf(after.left)).toBe(charged)
    }
    expect((await person.wallet()).balance).toBe(1_000_000_000n)
  })

  it('stay under a spend cap', async () => {
    const account = await openAccount(server(), { credit: '100.00' })
    const key = await account.createKey({ caps: { day: '2.00' } })
    await spend(server(), key, 990)
    await spend(server(), key, 990)
    const wallet = (await account.wallet()).balance
    const charged = await expectExactly(account, await sendAll(key), 10, 402)
    expect(wallet - (await account.wallet()).balance).toBe(charged)
    const [day] = (await server().operate('keys.show', { key: key.id })).spent
    expect(day).toMatchObject({ used: '2.00', left: '0.00', held: '0.00' })
  })

  it('of several keys share one plan', async () => {
    const person = await openSubscriber(server(), 'pro')
    const keys = await Promise.all(Array.from({ length: 4 }, () => person.createKey({ kind: 'builder' })))
    await spend(server(), person.builder, 180)
    const answers = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => spend(server(), keys[index % keys.length]!, 2)),
    )
    await expectExactly(person, answers, 10, 429)
    expect(await person.window('5h')).toMatchObject({ used: '0.20', left: '0.00' })
  })
})
