import { beforeAll, describe, expect, it } from 'vitest'
import { type ConsolePerson, signUp } from '../../support/console-session.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { advanceToTuesdayNoon, spend } from '../../support/subscriber.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const MINUTE = 60_000
const server = useServer({ config: PLANS_CONFIG })
let account: TestAccount
let owner: ConsolePerson
let member: ConsolePerson

beforeAll(async () => {
  await advanceToTuesdayNoon(server())
  account = await openAccount(server())
  owner = await signUp(server(), { email: 'boss@example.com', account: account.id })
  member = await signUp(server(), { email: 'mel@example.com', role: 'member', account: account.id })
})

const idOf = async (person: ConsolePerson) => (await person.call('GET /session')).person!.id
const createKey = (team: string, person?: string) =>
  owner.call('POST /keys', { body: { name: 'work', kind: 'wallet', team, ...(person && { person }) } })
const keyOf = ({ secret }: { secret: string }) => ({ key: secret })

describe('teams in the console', () => {
  it('bound the keys that an owner makes in them, and raising one needs the password', async () => {
    const team = await owner.call('POST /teams', { body: { name: 'Research', caps: { day: '0.05' } } })
    const made = await createKey(team.id, await idOf(member))
    expect(made.key).toMatchObject({ team: { name: 'Research' }, person: { email: 'mel@example.com' } })
    expect((await spend(server(), keyOf(made), 50)).status).toBe(200)
    expectProblem(await spend(server(), keyOf(made), 1), 'team_budget_reached')
    const params = { team: team.id }
    const shown = await owner.call('GET /teams/:team', { params })
    expect(shown).toMatchObject({ keys: 1, spent: [{ name: 'day', used: '0.05', left: '0.00' }] })
    const key = await owner.call('GET /keys/:key', { params: { key: made.key.id } })
    expect(key.shared).toMatchObject([{ holder: 'team', name: 'day', used: '0.05' }])
    const usage = await owner.call('GET /usage', {
      query: { from: '2026-01-01', to: '2030-01-01', zone: 'UTC', step: 'month', by: 'person', team: team.id },
    })
    expect(usage.table).toMatchObject([{ name: 'mel@example.com', used: { wallet: '0.05' } }])

    server().advance(20 * MINUTE)
    expect((await owner.send('PATCH /teams/:team', { params, body: { caps: { day: '0.04' } } })).status).toBe(200)
    for (const caps of [{ day: '0.06' }, { day: null }])
      expect((await owner.send('PATCH /teams/:team', { params, body: { caps } })).error?.code).toBe('confirm_password')
    const raise = { params, body: { cap: 'day', to: '1.00', until: '1d' } } as const
    expect((await owner.send('POST /teams/:team/raise', raise)).error?.code).toBe('confirm_password')
    await owner.call('POST /session/confirm', { body: { password: 'a password for walks' } })
    const raised = await owner.call('POST /teams/:team/raise', raise)
    expect(raised.spent[0]).toMatchObject({ limit: '1.00' })
    expect(raised.spent[0]!.raised_until).not.toBeNull()
    expect((await spend(server(), keyOf(made), 1)).status).toBe(200)
  })

  it('show a member only what is their own', async () => {
    const id = await idOf(member)
    await owner.call('PATCH /members/:person/caps', { params: { person: id }, body: { month: '2.00' } })
    const { own_caps } = await member.call('GET /overview')
    expect(own_caps).toMatchObject([{ name: 'month', limit: '2.00', holder: 'person' }])
    expect((await member.send('GET /teams')).error?.code).toBe('role_too_low')
    expect((await member.send('GET /members/:person', { params: { person: id } })).error?.code).toBe('role_too_low')
    const other = await idOf(owner)
    expect((await member.send('GET /keys', { query: { person: other } })).error?.code).toBe('person_not_found')
    const keys = await member.call('GET /keys')
    expect(keys.items.every(({ person }) => person?.id === id)).toBe(true)
  })

  it('are archived, and then take no new keys', async () => {
    const team = await owner.call('POST /teams', { body: { name: 'Old' } })
    await owner.call('PATCH /teams/:team', { params: { team: team.id }, body: { archived: true } })
    const refused = await owner.send('POST /keys', { body: { name: 'x', kind: 'wallet', team: team.id } })
    expect(refused.error?.code).toBe('team_not_found')
    const taken = await owner.send('POST /teams', { body: { name: 'Research' } })
    expect([taken.status, taken.error?.code]).toEqual([409, 'team_exists'])
  })

  it('leave the caps of owners to owners, and give new keys theirs', async () => {
    const admin = await signUp(server(), { email: 'adm@example.com', role: 'admin', account: account.id })
    const sent = { params: { person: await idOf(owner) }, body: { day: '1.00' } }
    expect((await admin.send('PATCH /members/:person/caps', sent)).error?.code).toBe('role_too_low')
    await admin.call('PATCH /new-key-caps', { body: { requests_day: 3 } })
    const { key } = await owner.call('POST /keys', { body: { name: 'capped', kind: 'wallet' } })
    expect(key.caps).toMatchObject([{ name: 'requests_day', limit: '3' }])
    server().advance(20 * MINUTE)
    const widened = await admin.send('PATCH /new-key-caps', { body: { requests_day: 4 } })
    expect(widened.error?.code).toBe('confirm_password')
    expect((await admin.send('PATCH /new-key-caps', { body: { requests_day: 2 } })).status).toBe(200)
  })
})
