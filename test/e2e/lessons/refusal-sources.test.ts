import { beforeAll, describe, expect, it } from 'vitest'
import { PROBLEMS, type ProblemCode } from '../../../src/model/problem.ts'
import type { Script } from '../../fakes/fault-upstream.ts'
import { FAULTS } from '../../fakes/faults.ts'
import { signUp } from '../../support/console-session.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { type Answer, answerOf, chat, get, hello, send } from '../../support/send-chat.ts'
import { advanceToTuesdayNoon, openSubscriber, spend } from '../../support/subscriber.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { EVERY_LANE_ASKED, PLANS_CONFIG } from '../../support/test-config.ts'
import { until } from '../../support/until.ts'
import { modelLine, upstreamLine, useScriptedUpstream } from './scripted-server.ts'

const scripts: Record<string, Script> = {
  silent: async () => {},
  good: (providerAnswer) => FAULTS.healthy(providerAnswer),
  throttled: (providerAnswer) => FAULTS['refused-429-seconds'](providerAnswer, 'before'),
  full: (providerAnswer) => FAULTS['refused-503'](providerAnswer, 'before'),
  broken: (providerAnswer) => FAULTS.reset(providerAnswer, 'before'),
  filtered: (providerAnswer) => FAULTS['refused-403-filter'](providerAnswer, 'before'),
}

const setup = useScriptedUpstream(
  (model) => scripts[model],
  (baseUrl) =>
    PLANS_CONFIG.replace('upstreams:\n', `${EVERY_LANE_ASKED}upstreams:\n${upstreamLine(baseUrl)}`).replace(
      'models:\n',
      `models:\n${[...Object.keys(scripts).map((name) => modelLine(`far-${name}`, [name])), modelLine('far-in-turn', ['full', 'broken', 'good'])].join('')}`,
    ),
)
beforeAll(() => advanceToTuesdayNoon(setup().server))

const server = () => setup().server

interface Provoked {
  readonly answer: Answer
  /** What the refusal says for programs, besides its code. */
  readonly facts: object
}

const refusedLimit = (kind: string, value: number) => ({ limit: { scope: 'key', kind, value } })
const amount = expect.stringMatching(/^\d+\.\d{2,9}$/)
const window = (name: string, limit: string, used: string) => ({
  window: name,
  limit,
  used,
  resets_at: expect.any(Number),
})

/** Every way of being told that one may not now, or not without paying. */
const PROVOKED: Readonly<Partial<Record<ProblemCode, () => Promise<Provoked>>>> = {
  async insufficient_balance() {
    const account = await openAccount(server(), { credit: '0.01' })
    return { answer: await spend(server(), account, 20), facts: { available: '0.01', needed: '0.02' } }
  },
  async balance_in_flight() {
    const account = await openAccount(server(), { credit: '0.01' })
    const controller = new AbortController()
    const body = { model: 'far-silent', max_tokens: 2000, messages: hello() }
    const stuck = send(server(), account, body, { signal: controller.signal })
    await until(() => setup().far.providerAnswers.length > 0)
    const answer = await spend(server(), account, 10)
    controller.abort()
    await stuck.catch(() => {})
    return { answer, facts: { available: amount, needed: '0.01' } }
  },
  async key_spend_cap_reached() {
    const account = await openAccount(server())
    const key = await account.createKey({ caps: { day: '0.05' } })
    await spend(server(), key, 50)
    return { answer: await spend(server(), key, 1), facts: window('day', '0.05', '0.05') }
  },
  async team_budget_reached() {
    const account = await openAccount(server())
    const team = await server().operate('teams.create', { account: account.id, name: 'Red', caps: { day: '0.05' } })
    const key = await account.createKey({ team: team.id })
    await spend(server(), key, 50)
    return { answer: await spend(server(), key, 1), facts: { ...window('day', '0.05', '0.05'), holder: 'team' } }
  },
  async person_spend_cap_reached() {
    const account = await openAccount(server())
    const { email: person } = await signUp(server(), { email: account.email, account: account.id })
    await server().operate('people.caps', { person, day: '0.05' })
    const key = await account.createKey({ person })
    await spend(server(), key, 50)
    return { answer: await spend(server(), key, 1), facts: { ...window('day', '0.05', '0.05'), holder: 'person' } }
  },
  async run_budget_exceeded() {
    const account = await openAccount(server())
    const body = { model: 'paid', max_tokens: 50, messages: hello('count to 5000') }
    const ask = () => chat(server(), account, body, { headers: { 'x-millrace-run': 'fix; max=0.05' } })
    await ask()
    return { answer: await ask(), facts: { window: 'total', holder: 'run', limit: '0.05', used: '0.05' } }
  },
  async quota_reached() {
    const account = await openAccount(server())
    const key = await account.createKey({ caps: { requests_day: 1 } })
    await spend(server(), key, 1)
    const facts = { window: 'requests_day', holder: 'key', limit: 1, used: 1, resets_at: expect.any(Number) }
    return { answer: await spend(server(), key, 1), facts }
  },
  async quota_in_flight() {
    const account = await openAccount(server())
    const key = await account.createKey({ caps: { requests_day: 1 } })
    const controller = new AbortController()
    const before = setup().far.providerAnswers.length
    const body = { model: 'far-silent', max_tokens: 20, messages: hello() }
    const stuck = send(server(), key, body, { signal: controller.signal })
    await until(() => setup().far.providerAnswers.length > before)
    const answer = await spend(server(), key, 1)
    controller.abort()
    await stuck.catch(() => {})
    return { answer, facts: { window: 'requests_day', holder: 'key', limit: 1, used: 0 } }
  },
  async subscription_inactive() {
    // There is no figure to tell: what is missing is the subscription.
    return { answer: await spend(server(), (await openSubscriber(server())).builder, 1), facts: {} }
  },
  async request_exceeds_allowance() {
    const person = await openSubscriber(server(), 'pro')
    return { answer: await spend(server(), person.builder, 201), facts: window('5h', '0.20', '0.00') }
  },
  async allowance_exhausted() {
    const person = await openSubscriber(server(), 'pro')
    await spend(server(), person.builder, 200)
    return { answer: await spend(server(), person.builder, 1), facts: window('5h', '0.20', '0.20') }
  },
  async rate_limit_exceeded() {
    const account = await openAccount(server())
    const key = await account.createKey({ limits: { requests_per_minute: 1 } })
    await spend(server(), key, 1)
    return { answer: await spend(server(), key, 1), facts: refusedLimit('requests', 1) }
  },
  async request_too_large_for_limit() {
    const account = await openAccount(server())
    const key = await account.createKey({ limits: { tokens_per_minute: 10 } })
    return { answer: await spend(server(), key, 100), facts: refusedLimit('tokens', 10) }
  },
  async upstream_busy() {
    const account = await openAccount(server())
    return { answer: await chat(server(), account, { model: 'far-throttled' }), facts: { source: 'upstream' } }
  },
}

const WAITING = Object.entries(PROBLEMS).filter(([, { status }]) => status === 402 || status === 429)

describe('who refused and why', () => {
  it('A25: every 402 and 429 code is tested here', () => {
    expect(Object.keys(PROVOKED).sort()).toEqual(WAITING.map(([code]) => code).sort())
  })

  it.each(WAITING.map(([code]) => code as ProblemCode))(
    'A25: %s names its limit, the remaining amount and the reset time',
    async (code) => {
      const { answer, facts } = await PROVOKED[code]!()
      const { error } = answer.json
      if (code === 'upstream_busy') expect([answer.status, error.code]).toEqual([429, code])
      else expectProblem(answer, code)
      expect(error).toMatchObject(facts)
      const wait = answer.headers.get('retry-after')
      if (PROBLEMS[code].retry === 'never') expect(wait).toBeNull()
      else expect(Number(wait)).toBeGreaterThanOrEqual(1)
      if (PROBLEMS[code].retry !== 'reset') return
      const seconds = error.resets_at - server().app.operations.clock.now() / 1000
      expect(Math.abs(Number(wait) - seconds)).toBeLessThanOrEqual(60)
    },
  )

  it('A24: a refusal by the gateway costs nothing, leaves no receipt and reaches no provider', async () => {
    const account = await openAccount(server(), { credit: '0.01' })
    const narrow = await account.createKey({ models: ['swift'], limits: { tokens_per_minute: 10 } })
    const refused: readonly [who: { key: string }, body: object | string, status: number][] = [
      [account, '{"model":', 400],
      [account, { model: 'far-good' }, 400],
      [account, { model: 'nowhere', messages: hello() }, 404],
      [account, { model: 'builder-only', messages: hello() }, 404],
      [account, { model: 'far-good', messages: hello(), temperature: 'hot' }, 400],
      [account, { model: 'swift-low', reasoning_effort: 'high', messages: hello() }, 400],
      [account, { model: 'far-good', messages: hello('w'.repeat(2_000_000)) }, 402],
      [account, { model: 'paid', messages: hello(), max_tokens: 900 }, 402],
      [narrow, { model: 'far-good', messages: hello() }, 404],
      [narrow, { model: 'swift', messages: hello() }, 429],
      [
        { key: `${account.key.slice(0, -1)}${account.key.endsWith('x') ? 'y' : 'x'}` },
        { model: 'far-good', messages: hello() },
        401,
      ],
    ]
    for (const [who, body, status] of refused) {
      for (const stream of [false, true]) {
        const answer = await answerOf(await send(server(), who, typeof body === 'string' ? body : { ...body, stream }))
        expect(answer.status, JSON.stringify(body).slice(0, 100)).toBe(status)
        expect(answer.json.error.source).toBe('gateway')
      }
    }
    expect(setup().far.providerAnswers).toHaveLength(0)
    expect(await account.receipts()).toEqual([])
    expect(await account.wallet()).toEqual({ balance: 10_000_000n, held: 0n, available: 10_000_000n })
  })

  it.each([true, false])(
    'A24: a refusal by the provider’s filter before content costs nothing (stream: %s)',
    async (stream) => {
      const account = await openAccount(server())
      const answer = await chat(server(), account, { model: 'far-filtered', stream })
      expect([answer.status, answer.json.error.source]).toEqual([400, 'upstream'])
      expect(await account.receipts()).toMatchObject([{ state: 'released', charge_nano: 0n }])
    },
  )

  it('A7: the receipt lists every attempt, and the client pays for one', async () => {
    const account = await openAccount(server())
    const answer = await chat(server(), account, { model: 'far-in-turn' })
    expect(answer.status).toBe(200)
    const { json } = await get(server(), account, `/requests/${answer.requestId}`)
    expect(json.attempts).toMatchObject([
      { outcome: 'failed', status: 503 },
      { outcome: 'failed', status: 200 },
      { outcome: 'finished', status: 200 },
    ])
    const trace = await server().operate('requests.trace', { request: answer.requestId })
    expect(trace.attempts.map(({ lane }: { lane: string }) => lane)).toEqual(['far/full', 'far/broken', 'far/good'])
    expect(setup().far.providerAnswers).toHaveLength(3)
    expect(json.charge).toBe(answer.json.usage.millrace.charge)
    expect(await account.receipts()).toHaveLength(1)
  })

  /** One request for every endpoint that can cost something; a new endpoint has to be added to pass. */
  const PAID: Readonly<Record<string, object>> = {
    'POST /v1/chat/completions': { model: 'paid', max_tokens: 10, messages: hello('count to 5000') },
    'POST /v1/responses': { model: 'paid', max_output_tokens: 10, input: 'count to 5000' },
    'POST /v1/responses/compact': { model: 'paid', max_output_tokens: 100, input: 'count to 5000' },
  }

  it('A18: every model endpoint is charged, capped, limited and recorded the same way', async () => {
    const person = await openSubscriber(server(), 'pro')
    const { endpoints } = (await get(server(), person, '')).json
    const posts = endpoints.filter((endpoint: string) => /^POST [^{]+$/.test(endpoint))
    expect(Object.keys(PAID).sort()).toEqual([...posts].sort())
    for (const endpoint of posts) {
      for (const kind of ['wallet', 'builder'] as const) {
        const key = await person.createKey({ kind, caps: { day: '0.2' }, limits: { requests_per_minute: 100 } })
        const before = { wallet: await person.wallet(), window: await person.window('5h') }
        const response = await fetch(`${server().baseUrl.replace(/\/v1$/, '')}${endpoint.slice('POST '.length)}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
          body: JSON.stringify(PAID[endpoint]),
        })
        const { usage } = (await response.json()) as { usage: Record<string, number> }
        expect([response.status, response.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '99'])
        const { json } = await get(server(), key, `/requests/${response.headers.get('x-request-id')}`)
        const charge = nanoOf(json.charge)
        // A thousandth of a dollar a token.
        expect(charge).toBe(BigInt(usage.completion_tokens ?? usage.output_tokens ?? 0) * 1_000_000n)
        expect(charge).toBeGreaterThan(0n)
        const [day] = (await server().operate('keys.show', { key: key.id })).spent
        expect(nanoOf(day!.used)).toBe(charge)
        const spentOn = { wallet: kind === 'wallet' ? charge : 0n, builder: kind === 'builder' ? charge : 0n }
        expect(before.wallet.balance - (await person.wallet()).balance).toBe(spentOn.wallet)
        expect(nanoOf((await person.window('5h')).used) - nanoOf(before.window.used)).toBe(spentOn.builder)
      }
    }
  })
})
