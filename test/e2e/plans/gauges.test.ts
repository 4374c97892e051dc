import { describe, expect, it } from 'vitest'
import type { KeyStanding } from '../../../src/cli/cli-services.ts'
import { describeStanding } from '../../../src/cli/usage.ts'
import { chat, get, hello } from '../../support/send-chat.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

describe('gauges in the shapes of other gateways', () => {
  const server = useServer({ config: PLANS_CONFIG })

  /** Costs a thousandth of a dollar a token. */
  const spend = (who: { readonly key: string }, tokens: number, headers: Record<string, string> = {}) =>
    chat(
      server(),
      who,
      { model: 'paid', max_output_tokens: tokens, messages: undefined, input: 'count to 5000' },
      { path: '/responses', headers },
    )
  const data = async (who: { readonly key: string }, path: string) => (await get(server(), who, path)).json
  const rootOf = async (who: { readonly key: string }, path: string) => {
    const response = await fetch(`http://127.0.0.1:${server().port}${path}`, {
      headers: { authorization: `Bearer ${who.key}` },
    })
    return (await response.json()) as Record<string, Record<string, unknown>>
  }
  const chargedOf = async (account: TestAccount) =>
    (await account.receipts()).reduce((sum, { charge_nano }) => sum + (charge_nano ?? 0n), 0n)

  it('say what a wallet key has used, and what its tightest cap leaves', async () => {
    const account = await openAccount(server())
    const capped = await account.createKey({ name: 'laptop', caps: { day: '0.10', month: '1.00', requests_day: 9 } })
    await spend(account, 40)
    await spend(capped, 30)
    expect(await data(capped, '/key')).toMatchObject({
      ...{ object: 'key', wallet: { balance: '9.93' } },
      data: {
        ...{ label: 'laptop', usage: 0.03, usage_daily: 0.03, usage_weekly: 0.03, usage_monthly: 0.03 },
        ...{ limit: 0.1, limit_remaining: 0.07, limit_reset: 'daily', is_free_tier: false },
      },
    })
    expect((await data(account, '/key')).data).toMatchObject({ usage: 0.04, limit: null, limit_remaining: null })
    // A builder key of the same account has used none of the wallet.
    await server().operate('plans.assign', { account: account.id, plan: 'pro' })
    await spend(await account.createKey({ kind: 'builder', name: 'agent' }), 10)
    expect(await chargedOf(account)).toBe(80_000_000n)
    // What is left is the difference.
    expect(await data(account, '/credits')).toEqual({ data: { total_credits: 10, total_usage: 0.07 } })
    expect(await data(capped, '/credits')).toEqual({ data: { total_credits: 10, total_usage: 0.07 } })
    const info = { key_alias: 'laptop', spend: 0.03, max_budget: 0.1, budget_duration: '1d' }
    expect(await rootOf(capped, '/key/info')).toMatchObject({ info })
    expect(await rootOf(capped, '/v1/key/info')).toMatchObject({
      info: { ...info, budget_reset_at: /T00:00:00.000Z$/ },
    })
    expect(await rootOf({ key: 'mr_wallet_wrong' }, '/key/info')).toMatchObject({ error: { code: 'invalid_api_key' } })
    expect(describeStanding((await data(capped, '/key')) as unknown as KeyStanding)).toBe(
      '$9.93 · day $0.07 of $0.10 · month $0.97 of $1.00 · requests_day 8 of 9',
    )
  })

  it('say what a plan leaves, and nothing of the wallet', async () => {
    const account = await openAccount(server(), { credit: '0' })
    const builder = await account.createKey({ kind: 'builder', name: 'agent' })
    await server().operate('plans.assign', { account: account.id, plan: 'pro' })
    await spend(builder, 50)
    expect((await data(builder, '/key')).data).toMatchObject({ usage: 0.05, limit: 0.2, limit_remaining: 0.15 })
    expect(await data(builder, '/credits')).toEqual({ data: { total_credits: 0.2, total_usage: 0.05 } })
    expect((await rootOf(builder, '/key/info')).info).toMatchObject({ spend: 0.05, max_budget: 0.2 })
  })

  it('reach Codex as the headers of its answers, and no other client', async () => {
    const account = await openAccount(server())
    const capped = await account.createKey({ caps: { day: '0.10', month: '1.00', tokens_day: 100_000 } })
    const codex = { originator: 'codex_exec' }
    const first = await spend(capped, 25, codex)
    const second = await spend(capped, 25, codex)
    expect(first.headers.get('x-codex-primary-used-percent')).toBe('0')
    const told = (name: string) => second.headers.get(`x-codex-${name}`)
    expect([told('primary-used-percent'), told('primary-window-minutes')]).toEqual(['25', '1440'])
    expect(told('secondary-used-percent')).toBe('2.5')
    const { caps } = (await data(capped, '/key')) as unknown as { caps: { name: string; end: string }[] }
    expect(Number(told('primary-reset-at')) * 1000).toBe(Date.parse(caps.find(({ name }) => name === 'day')!.end))
    expect([told('credits-has-credits'), told('credits-unlimited'), told('credits-balance')]).toEqual([
      ...['true', 'false', '9.975'],
    ])
    const other = await spend(capped, 5)
    expect([...other.headers.keys()].filter((name) => name.startsWith('x-codex'))).toEqual([])
    expect((await chat(server(), capped, { model: 'paid', max_tokens: 5, messages: hello('hi') })).status).toBe(200)
  })
})
