import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get, hello } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const HOUR_MS = 3_600_000

describe('x-millrace-run', () => {
  const server = useServer({ config: `${PLANS_CONFIG}\nhold: { uncapped_tokens_min: 100 }\n` })

  /** Costs and holds a thousandth of a dollar a token. */
  const ask = (
    who: { readonly key: string },
    run: string,
    tokens: number | undefined = 10,
    path = '/chat/completions',
  ) =>
    chat(
      server(),
      who,
      {
        model: 'paid',
        ...(path === '/responses'
          ? { max_output_tokens: tokens, messages: undefined, input: 'count to 5000' }
          : { max_tokens: tokens, messages: hello('count to 5000') }),
      },
      { path, headers: { 'x-millrace-run': run } },
    )
  const countersOf = async (run: number) => {
    const counters = await server().app.operations.db.selectFrom('spend_counters').select('subject').execute()
    return counters.filter(({ subject }) => subject === `cap:run:${run}:total`)
  }
  const runOf = async (who: { readonly key: string }, id: string) => (await get(server(), who, `/runs/${id}`)).json

  it('gives all keys and both protocols one budget, and refuses beyond it for good', async () => {
    const account = await openAccount(server())
    const other = await account.createKey()
    expect((await ask(account, 'fix-1; max=0.05', 20)).status).toBe(200)
    expect((await ask(other, 'fix-1; max=0.05', 20, '/responses')).status).toBe(200)
    const refused = await ask(other, 'fix-1; max=0.05', 20)
    expectProblem(refused, 'run_budget_exceeded', {
      message: /This run may spend 0\.05 USD in total; 0\.04 USD has been spent.*Begin a new run/,
    })
    expect(refused.json.error).toMatchObject({ holder: 'run', limit: '0.05', used: '0.04' })
    expect((await ask(account, 'fix-1', 10)).status).toBe(200)
    expectProblem(await ask(account, 'fix-1', 1), 'run_budget_exceeded')
    expect(await runOf(other, 'fix-1')).toMatchObject({
      ...{ object: 'run', id: 'fix-1', state: 'open', parent: null, runs: [] },
      budget: { cost: '0.05', requests: null, tokens: null },
      used: { cost: '0.05', requests: 3 },
      remaining: { cost: '0.00', requests: null, tokens: null },
    })
    // Without it the key goes on, and the runs of another account are its own.
    expect((await chat(server(), account, { model: 'paid', max_tokens: 5 })).status).toBe(200)
    const stranger = await openAccount(server())
    expectProblem(await get(server(), stranger, '/runs/fix-1'), 'run_not_found')
    expect((await ask(stranger, 'fix-1; max=0.01', 10)).status).toBe(200)
    expect((await account.wallet()).balance).toBe(nanoOf('9.945'))
  })

  it('is not begun by a wallet without money, with an idempotency key or without', async () => {
    const account = await openAccount(server(), { credit: '0' })
    for (const more of [{}, { 'idempotency-key': 'k' }]) {
      const headers = { 'x-millrace-run': 'empty; max=1', ...more }
      const answer = await chat(server(), account, { model: 'paid', messages: hello() }, { headers })
      expectProblem(answer, 'insufficient_balance')
    }
    expect((await get(server(), account, '/runs/empty')).status).toBe(404)
  })

  it('counts requests and tokens', async () => {
    const account = await openAccount(server())
    for (let request = 0; request < 2; request++)
      expect((await ask(account, 'few; max_requests=2', 5)).status).toBe(200)
    expectProblem(await ask(account, 'few; max_requests=2', 5), 'run_budget_exceeded', {
      message: /This run may use 2 requests; 2 have been used/,
    })
    expect((await ask(account, 'small; max_tokens=60', 20)).status).toBe(200)
    expectProblem(await ask(account, 'small; max_tokens=60', 50), 'run_budget_exceeded', {
      message: /may use 60 tokens/,
    })
    const { used, remaining } = await runOf(account, 'small')
    expect(used.requests).toBe(1)
    expect(remaining.tokens).toBe(60 - used.tokens)
  })

  it('bounds the runs inside a run by it, and adds them up', async () => {
    const account = await openAccount(server())
    expectProblem(await ask(account, 'leaf; parent=root'), 'invalid_value', { message: /No run.*"root"/ })
    expect((await ask(account, 'root; max=0.06', 10)).status).toBe(200)
    expect((await ask(account, 'left; max=0.02; parent=root', 20)).status).toBe(200)
    expectProblem(await ask(account, 'left', 1), 'run_budget_exceeded', { message: /0\.02 USD in total/ })
    expect((await ask(account, 'right; max=5.00; parent=root', 20)).status).toBe(200)
    expect((await ask(account, 'leaf; parent=right', 10)).status).toBe(200)
    expectProblem(await ask(account, 'leaf', 1), 'run_budget_exceeded', { message: /0\.06 USD in total/ })
    const root = await runOf(account, 'root')
    expect(root).toMatchObject({
      used: { cost: '0.06', requests: 4 },
      remaining: { cost: '0.00' },
      runs: [
        { id: 'left', used: { cost: '0.02', requests: 1 }, runs: [] },
        { id: 'right', used: { cost: '0.03', requests: 2 }, runs: [{ id: 'leaf', used: { cost: '0.01' } }] },
      ],
    })
    expect(await runOf(account, 'leaf')).toMatchObject({ parent: 'right', budget: { cost: null } })
  })

  it('shortens the answer near the end instead of refusing it', async () => {
    const account = await openAccount(server())
    const answer = await ask(account, 'long; max=0.60', 900)
    expect(answer.status).toBe(200)
    const cap = Number(answer.headers.get('x-millrace-max-output-tokens'))
    expect(cap).toBe(600)
    expect(answer.json.choices[0].finish_reason).toBe('length')
    expect(await runOf(account, 'long')).toMatchObject({ used: { cost: '0.60' }, remaining: { cost: '0.00' } })
    // A wallet never shortens what the client has asked for.
    const poor = await openAccount(server(), { credit: '0.60' })
    expectProblem(await ask(poor, 'long; max=9.00', 900), 'insufficient_balance')
    // Too little is left for an answer of any use.
    expectProblem(await ask(account, 'tight; max=0.09', 900), 'run_budget_exceeded')
  })

  it('keeps the terms of its first request', async () => {
    const account = await openAccount(server())
    expect((await ask(account, 'fixed; max=0.02; ends=2h', 10)).status).toBe(200)
    const { row } = await server()
      .app.operations.db.selectFrom('runs')
      .select('row')
      .where('id', '=', 'fixed')
      .executeTakeFirstOrThrow()
    expect(await countersOf(row)).toHaveLength(1)
    for (const [header, message] of [
      ['fixed; max=0.03', /has had `max` 0\.02 since its first request/],
      ['fixed; max_requests=9', /has had `max_requests` none/],
      ['fixed; parent=root', /is in no other run/],
      ['', /is not an id/],
      ['-x', /is not an id/],
      ['x; max=-1', /`max` is "-1"/],
      ['x; max=0', /`max` is "0"/],
      ['x; max_tokens=1.5', /whole number above 0/],
      ['x; max=1; max=2', /`max` is given twice/],
      ['x; budget=1', /"budget=1" is not one of max, max_requests/],
      ['x; parent=x', /the id of another run/],
      ['x; ends=2026-12-01', /`ends` is "2026-12-01"/],
    ] as const)
      expectProblem(await ask(account, header), 'invalid_value', { param: 'x-millrace-run', message })
    expectProblem(await chat(server(), account, {}, { headers: { 'x-millrace-tags': 'run=other' } }), 'invalid_value', {
      message: /x-millrace-run/,
    })
    server().advance(2 * HOUR_MS)
    expectProblem(await ask(account, 'fixed', 1), 'run_budget_exceeded', { message: /"fixed" ended at 20/ })
    expect((await runOf(account, 'fixed')).state).toBe('ended')
    // Its counters are not needed any more two days later.
    server().advance(60 * HOUR_MS)
    await server().app.operations.ledger.sweep()
    const { remaining, used } = await runOf(account, 'fixed')
    expect([remaining.cost, used.cost]).toEqual(['0.01', '0.01'])
    expect(await countersOf(row)).toEqual([])
    // A month later the run is forgotten too, and its id is free. The newest run stays.
    expect((await ask(account, 'newest', 1)).status).toBe(200)
    server().advance(30 * 24 * HOUR_MS)
    await server().app.operations.ledger.sweep()
    expectProblem(await get(server(), account, '/runs/fixed'), 'run_not_found')
    expect((await ask(account, 'fixed; max=0.03', 10)).status).toBe(200)
    expect(await runOf(account, 'fixed')).toMatchObject({ budget: { cost: '0.03' }, used: { cost: '0.01' } })
    expect((await account.wallet()).balance).toBe(nanoOf('9.979'))
  })

  it('counts the runs inside it for as long as it can be read, however long ago those ended', async () => {
    const account = await openAccount(server())
    for (const header of ['big; max=1.00; ends=60d', 'part; parent=big; ends=1h', 'piece; parent=part'])
      expect((await ask(account, header, 10)).status).toBe(200)
    const days = async (count: number) => {
      server().advance(count * 24 * HOUR_MS)
      // A run is looked at when those inside it are gone.
      for (let pass = 0; pass < 4; pass++) await server().app.operations.ledger.sweep()
    }
    await days(50)
    expect(await runOf(account, 'big')).toMatchObject({
      ...{ state: 'open', used: { cost: '0.03', requests: 3 } },
      runs: [{ id: 'part', used: { requests: 2 }, runs: [{ id: 'piece' }] }],
    })
    // SQLite keeps the newest run.
    expect((await ask(account, 'last; ends=30d', 10)).status).toBe(200)
    await days(39)
    expect((await runOf(account, 'big')).used).toMatchObject({ cost: '0.03', requests: 3 })
    await days(2)
    for (const id of ['big', 'part', 'piece'])
      expectProblem(await get(server(), account, `/runs/${id}`), 'run_not_found')
    expect((await runOf(account, 'last')).state).toBe('ended')
  })

  it('is not begun by a request that is refused, and not without end', async () => {
    const account = await openAccount(server())
    const runs = async () => {
      const of = server().app.operations.db.selectFrom('runs').innerJoin('accounts', 'accounts.row', 'runs.account')
      return (await of.select('runs.id').where('accounts.id', '=', account.id).execute()).map(({ id }) => id)
    }
    const bad = { headers: { 'x-millrace-run': 'bad; ends=90d' } }
    expect((await chat(server(), account, { model: 'paid', messages: 'no list' }, bad)).status).toBe(400)
    expectProblem(await ask(account, 'late; ends=2000-01-01T00:00:00Z', 1), 'run_budget_exceeded', {
      message: /ended at 2000/,
    })
    expect(await runs()).toEqual([])
    expect((await ask(account, 'outer; ends=1h', 1)).status).toBe(200)
    server().advance(2 * HOUR_MS)
    expectProblem(await ask(account, 'inner; parent=outer', 1), 'run_budget_exceeded')
    expect(await runs()).toEqual(['outer'])
    // To the beginning of a minute, in which all of these come.
    server().advance(60_000 - (Date.now() % 60_000))
    const codes = new Map<string, number>()
    const begin = async (run: number): Promise<void> => {
      const headers = { 'x-millrace-run': `r${run}` }
      const { status, json } = await chat(server(), account, { model: 'nowhere' }, { headers })
      // A busy machine sheds load.
      if (status === 503) return begin(run)
      const code = `${status} ${json.error?.code}`
      codes.set(code, (codes.get(code) ?? 0) + 1)
    }
    for (let run = 0; run < 620; run += 10)
      await Promise.all(Array.from({ length: 10 }, (_, more) => begin(run + more)))
    expect(Object.fromEntries(codes)).toEqual({ '404 model_not_found': 600, '429 rate_limit_exceeded': 20 })
    expect(await runs()).toHaveLength(601)
    // All of them are in one, which counts more than it lists.
    const row = await server()
      .app.operations.db.selectFrom('runs')
      .select('row')
      .where('id', '=', 'r0')
      .executeTakeFirstOrThrow()
    await server()
      .app.operations.db.updateTable('runs')
      .set({ parent: row.row })
      .where('id', 'like', 'r_%')
      .where('id', '!=', 'r0')
      .execute()
    expect((await ask(account, 'r599', 1)).status).toBe(200)
    expect(await runOf(account, 'r0')).toMatchObject({ all_listed: false, used: { cost: '0.001', requests: 1 } })
  })

  it('is never exceeded by children that ask at once', async () => {
    const account = await openAccount(server())
    const keys = await Promise.all(Array.from({ length: 5 }, () => account.createKey()))
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, child) =>
        ask(keys[child % 5]!, `child-${child}; parent=swarm`, 10).then(async (first) =>
          first.status === 400 ? ask(keys[child % 5]!, `child-${child}`, 10) : first,
        ),
      ).concat(ask(account, 'swarm; max=0.30', 10)),
    )
    for (const { status, json } of answers)
      if (status !== 200)
        expect(['run_budget_exceeded', 'balance_in_flight', 'invalid_value']).toContain(json.error.code)
    const swarm = await runOf(account, 'swarm')
    expect(nanoOf(swarm.used.cost)).toBeLessThanOrEqual(nanoOf('0.30'))
    let { remaining } = swarm
    while (nanoOf(remaining.cost) > 0n) {
      expect((await ask(account, 'late; parent=swarm', 10)).status).toBe(200)
      ;({ remaining } = await runOf(account, 'swarm'))
    }
    expectProblem(await ask(account, 'late; parent=swarm', 1), 'run_budget_exceeded')
    const all = await runOf(account, 'swarm')
    expect(all.used).toMatchObject({ cost: '0.30', requests: 30 })
    const inside = all.runs.reduce((sum: bigint, run: { used: { cost: string } }) => sum + nanoOf(run.used.cost), 0n)
    expect(inside).toBe(nanoOf('0.29'))
  })
})
