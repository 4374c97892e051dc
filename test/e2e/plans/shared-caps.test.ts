import { beforeAll, describe, expect, it } from 'vitest'
import { signUp } from '../../support/console-session.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { get, hello, send } from '../../support/send-chat.ts'
import { advanceToTuesdayNoon, openSubscriber, spend } from '../../support/subscriber.ts'
import { nanoOf, openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const DAY_MS = 86_400_000

describe('one wallet and many people', () => {
  const server = useServer({ config: PLANS_CONFIG })
  beforeAll(() => advanceToTuesdayNoon(server()))

  let people = 0
  const personOf = async (account: TestAccount) => {
    const { email } = await signUp(server(), { email: `member-${++people}@example.com`, account: account.id })
    return email
  }
  const teamOf = (account: TestAccount, caps: object, name = 'Research') =>
    server().operate('teams.create', { account: account.id, name, caps })

  it('bounds what all keys of a team spend together, and no other key', async () => {
    const account = await openAccount(server())
    const team = await teamOf(account, { day: '0.05', quarter: '1.00' })
    const [first, second] = [await account.createKey({ team: team.id }), await account.createKey({ team: team.id })]
    expect((await spend(server(), first, 30)).status).toBe(200)
    expect((await spend(server(), second, 20)).status).toBe(200)
    const refused = await spend(server(), first, 1)
    expectProblem(refused, 'team_budget_reached', {
      message: /The team of this key may spend 0\.05 USD a day; 0\.05 USD/,
    })
    expect(refused.json.error).toMatchObject({ window: 'day', holder: 'team', limit: '0.05', used: '0.05' })
    expect((await spend(server(), account, 30)).status).toBe(200)
    const { spent, keys } = await server().operate('teams.show', { team: team.id })
    expect(keys).toBe(2)
    expect(spent).toMatchObject([
      { name: 'day', limit: '0.05', used: '0.05', left: '0.00' },
      { name: 'quarter', limit: '1.00', used: '0.05', left: '0.95' },
    ])
    server().advance(DAY_MS)
    expect((await spend(server(), second, 30)).status).toBe(200)
  })

  it('bounds a person across their keys, by wallet and by plan, and names the caps on a receipt', async () => {
    const account = await openSubscriber(server(), 'pro')
    const person = await personOf(account)
    await server().operate('people.caps', { person, day: '0.05' })
    const wallet = await account.createKey({ person, caps: { month: '1.00' } })
    const builder = await account.createKey({ kind: 'builder', person })
    expect((await spend(server(), wallet, 25)).status).toBe(200)
    expect((await spend(server(), builder, 25)).status).toBe(200)
    expectProblem(await spend(server(), wallet, 1), 'person_spend_cap_reached', {
      message: /The person this key belongs to may spend 0\.05 USD a day.*Ask an owner/,
    })
    expectProblem(await spend(server(), builder, 1), 'person_spend_cap_reached')
    const [receipt] = (await account.receipts()).filter(({ caps }) => caps?.startsWith('month '))
    const { paid_by } = await server().operate('requests.trace', { request: receipt!.request_id })
    expect(paid_by.caps.map(({ name, holder }) => `${name} of the ${holder}`)).toEqual([
      'month of the key',
      'day of the person',
    ])
    expect((await server().operate('people.show', { person })).spent).toMatchObject([{ used: '0.05', left: '0.00' }])
  })

  it('is exact when many keys ask at once', async () => {
    const account = await openAccount(server())
    const person = await personOf(account)
    await server().operate('people.caps', { person, total: '0.30' })
    const team = await teamOf(account, { week: '0.20' })
    const keys = await Promise.all([1, 2, 3, 4, 5, 6].map(() => account.createKey({ person, team: team.id })))
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) => spend(server(), keys[index % keys.length]!, 10)),
    )
    // What is only held by others may be had a moment later.
    const served = answers.filter(({ status }) => status === 200).length
    for (const { status, json } of answers)
      if (status !== 200) expect(['team_budget_reached', 'balance_in_flight']).toContain(json.error.code)
    expect(served).toBeLessThanOrEqual(20)
    for (let left = 20 - served; left > 0; left--) expect((await spend(server(), keys[0]!, 10)).status).toBe(200)
    expectProblem(await spend(server(), keys[1]!, 1), 'team_budget_reached')
    expect((await server().operate('teams.show', { team: team.id })).spent).toMatchObject([
      { used: '0.20', held: '0.00' },
    ])
    expect((await server().operate('people.show', { person })).spent).toMatchObject([{ used: '0.20', left: '0.10' }])
    await server().operate('teams.change', { team: team.id, caps: { week: null } })
    expect((await spend(server(), keys[2]!, 100)).status).toBe(200)
    expectProblem(await spend(server(), keys[3]!, 1), 'person_spend_cap_reached', {
      message: /in total.*does not reset/,
    })
    expect((await account.wallet()).balance).toBe(nanoOf('9.70'))
  })

  it('raises a cap for a while', async () => {
    const account = await openAccount(server())
    const team = await teamOf(account, { day: '0.02' })
    const key = await account.createKey({ team: team.id })
    expect((await spend(server(), key, 20)).status).toBe(200)
    expectProblem(await spend(server(), key, 1), 'team_budget_reached')
    await server().operate('teams.raise', { team: team.id, cap: 'day', to: '0.05', until: '2h' })
    expect((await spend(server(), key, 30)).status).toBe(200)
    const raised = await server().operate('teams.show', { team: team.id })
    expect(raised.spent).toMatchObject([{ limit: '0.05', used: '0.05' }])
    expect(raised.spent[0]!.raised_until).not.toBeNull()
    server().advance(2 * 3_600_000)
    expectProblem(await spend(server(), key, 1), 'team_budget_reached', {
      message: /0\.02 USD a day; 0\.05 USD has been/,
    })
    expect((await server().operate('teams.show', { team: team.id })).spent).toMatchObject([
      { limit: '0.02', used: '0.05', left: '0.00', raised_until: null },
    ])
    await expect(
      server().operate('teams.raise', { team: team.id, cap: 'month', to: '1.00', until: '2h' }),
    ).rejects.toThrow(/no cap "month"/)
  })

  it('counts requests and tokens of a day', async () => {
    const account = await openAccount(server())
    const counted = await account.createKey({ caps: { requests_day: 2 } })
    expect((await spend(server(), counted, 1)).status).toBe(200)
    expect((await spend(server(), counted, 1)).status).toBe(200)
    const refused = await spend(server(), counted, 1)
    expectProblem(refused, 'quota_reached', { message: /This key may use 2 requests a day; 2 have been used/ })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    const measured = await account.createKey({ caps: { tokens_day: 300 } })
    expect((await spend(server(), measured, 200)).status).toBe(200)
    const [tokens] = (await server().operate('keys.show', { key: measured.id })).spent
    expect(tokens).toMatchObject({ name: 'tokens_day', limit: '300', held: '0' })
    expect(Number(tokens!.used)).toBeGreaterThanOrEqual(200)
    expectProblem(await spend(server(), measured, 200), 'quota_reached', { message: /300 tokens a day/ })
    server().advance(DAY_MS)
    expect((await spend(server(), counted, 1)).status).toBe(200)
    expect((await spend(server(), measured, 200)).status).toBe(200)
  })

  it('says what fits under a cap on tokens, and that a request above all of it does not fit tomorrow either', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ caps: { tokens_day: 300 } })
    expect((await spend(server(), key, 200)).status).toBe(200)
    expectProblem(await spend(server(), key, 200), 'quota_reached', {
      message: /resets at .*Z\. Set max_tokens to \d+ or less/,
    })
    const exceeding = await spend(server(), key, 400)
    expectProblem(exceeding, 'request_exceeds_allowance', { message: /may use 300 tokens a day.*Set max_tokens to/ })
    const fitting = Number(/max_tokens to (\d+)/.exec(exceeding.json.error.message)![1])
    expect((await spend(server(), key, fitting + 1)).status).not.toBe(200)
    expect((await spend(server(), key, fitting)).status).toBe(200)
  })

  it('names at the key whose each cap is', async () => {
    const account = await openAccount(server())
    const team = await teamOf(account, { day: '6.00' })
    const key = await account.createKey({ team: team.id, caps: { day: '7.00' } })
    expect((await get(server(), key, '/key')).json.caps).toMatchObject([
      { name: 'day', holder: 'key', limit: '7.00' },
      { name: 'day', holder: 'team', limit: '6.00' },
    ])
  })

  it('tells to wait where a running request holds the last one of a day', async () => {
    const key = await (await openAccount(server())).createKey({ caps: { requests_day: 1 } })
    const body = { model: 'calm', stream: true, max_tokens: 2000, messages: hello('count to 2000') }
    const running = await send(server(), key, body)
    expectProblem(await spend(server(), key, 1), 'quota_in_flight', { message: /Running requests hold the rest/ })
    await running.body?.cancel()
  })

  it('gives new keys the caps of the account, unless they are given others', async () => {
    const account = await openAccount(server())
    await server().operate('accounts.new-key-caps', { account: account.id, day: '1.00', total: '20.00' })
    expect((await account.createKey()).caps).toEqual({ day: '1.00', total: '20.00' })
    expect((await account.createKey({ caps: { day: '2.00', total: null } })).caps).toEqual({ day: '2.00' })
    const shown = await account.createKey({ caps: { week: '3.00', tokens_day: 10 } })
    const listed = (await server().operate('keys.list', { account: account.id })).items.find(
      ({ id }) => id === shown.id,
    )
    expect(listed?.caps).toEqual({ day: '1.00', week: '3.00', total: '20.00', tokens_day: 10 })
  })

  it('refuses the keys of a disabled person, and keys for people and teams of others', async () => {
    const [account, other] = [await openAccount(server()), await openAccount(server())]
    const person = await personOf(account)
    const team = await teamOf(account, {}, 'Old')
    const key = await account.createKey({ person, team: team.id })
    expect((await spend(server(), key, 1)).status).toBe(200)
    await server().operate('people.disable', { person })
    expectProblem(await spend(server(), key, 1), 'invalid_api_key', { message: /person .* is disabled/ })
    await server().operate('people.enable', { person })
    expect((await spend(server(), key, 1)).status).toBe(200)
    await expect(other.createKey({ person })).rejects.toThrow(/no active person/)
    await expect(other.createKey({ team: team.id })).rejects.toThrow(/no open team/)
    await expect(teamOf(account, {}, 'Old')).rejects.toThrow(/has a team "Old" already/)
    await server().operate('teams.change', { team: team.id, archived: true })
    await expect(account.createKey({ team: team.id })).rejects.toThrow(/no open team/)
    expect((await teamOf(account, {}, 'Old')).name).toBe('Old')
  })

  it('reports the usage of people and teams, which adds up to that of the account', async () => {
    const account = await openAccount(server())
    const person = await personOf(account)
    const [red, blue] = [await teamOf(account, {}, 'Red'), await teamOf(account, {}, 'Blue')]
    const keys = await Promise.all([
      ...[account.createKey({ team: red.id, person }), account.createKey({ team: red.id })],
      account.createKey({ team: blue.id, person }),
    ])
    for (const [index, key] of [...keys, account].entries())
      expect((await spend(server(), key, 10 * (index + 1))).status).toBe(200)
    const report = async (by: 'person' | 'team') => {
      const { total, table, series } = await server().operate('usage.report', { account: account.id, by })
      expect(total.wallet).toBe('0.10')
      expect(series.map(({ id, total }) => [id, total.wallet])).toEqual(table.map(({ id, used }) => [id, used.wallet]))
      const csv = await server().operate('usage.export', { account: account.id, by })
      for (const { id, used } of table) expect(csv).toMatch(new RegExp(`,${id},.*,${used.wallet},`))
      return table.map(({ name, used }) => [name, used.requests, used.wallet])
    }
    expect(await report('team')).toEqual([
      ['none', 1, '0.04'],
      ['Red', 2, '0.03'],
      ['Blue', 1, '0.03'],
    ])
    expect(await report('person')).toEqual([
      ['none', 2, '0.06'],
      [person, 2, '0.04'],
    ])
  })

  it('balances', async () => {
    expect(await server().operate('db.verify', {})).toMatchObject({ ok: true })
  })
})
