import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { chatAnswer } from '../../fakes/chat-answers.ts'
import { type FaultUpstream, startFaultUpstream } from '../../fakes/fault-upstream.ts'
import { POLITE } from '../../fakes/polite-model.ts'
import { responsesAnswer } from '../../fakes/responses-answers.ts'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get, hello, send } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { nanoOf, openAccount, type TestAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

/** A token costs a thousandth of a dollar, a tenth of that, and nothing that the tests would run out of. */
const modelOf = (id: string, output: string, more = '') => `
  - id: ${id}
    context_tokens: 128000
    max_output_tokens: 4096
    price: { input: "0", output: "${output}" }
    ${more}
    lanes: [{ upstream: demo, model: demo-fast }]`
const CONFIG = `${TEST_CONFIG}${[
  modelOf('grand', '1000', 'step_down: { to: petite }\n    efforts: [low, high]'),
  modelOf('petite', '100', 'efforts: [low]'),
  modelOf('mute', '100', 'efforts: []'),
  modelOf('loud', '1000', 'step_down: { to: mute }'),
  modelOf('calmer', '1000', 'efforts: [low, high]\n    step_down: { to: calmer-low, below_percent: 50 }'),
].join('')}
hold: { uncapped_tokens_min: 100 }
`

describe('a model with a cheaper one to step down to', () => {
  const server = useServer({ config: CONFIG })
  const ask = (
    who: { readonly key: string },
    body: object,
    { run, path = '/chat/completions', ...headers }: Record<string, string> = {},
  ) =>
    chat(
      server(),
      who,
      path === '/responses'
        ? { model: 'grand', messages: undefined, input: 'count to 5000', max_output_tokens: 100, ...body }
        : { model: 'grand', messages: hello('count to 5000'), max_tokens: 100, ...body },
      { path, headers: { ...headers, ...(run !== undefined && { 'x-millrace-run': run }) } },
    )
  const stepOf = (answer: { readonly headers: Headers }) => answer.headers.get('x-millrace-stepped-down')
  const lastOf = async (account: TestAccount) => (await account.receipts()).at(-1)!

  it('is left where the wallet does not cover it, in both protocols, and says so', async () => {
    const account = await openAccount(server(), { credit: '0.155' })
    const first = await ask(account, {})
    expect([first.status, first.json.model, stepOf(first)]).toEqual([200, 'grand', null])
    for (const path of ['/chat/completions', '/responses']) {
      const answer = await ask(account, {}, { path })
      expect([answer.status, answer.json.model, stepOf(answer)]).toEqual([200, 'petite', 'grand'])
    }
    const receipt = await lastOf(account)
    expect([receipt.model, receipt.hold_nano, receipt.charge_nano]).toEqual(['petite', nanoOf('0.01'), nanoOf('0.01')])
    expect((await get(server(), account, `/requests/${receipt.request_id}`)).json.tags).toEqual({
      'stepped-down': 'grand',
    })
    expect((await account.wallet()).balance).toBe(nanoOf('0.035'))
    // Not even the cheaper one: the refusal is that of the model which was asked for.
    for (let turn = 0; turn < 3; turn++) expect((await ask(account, {})).json.model).toBe('petite')
    const refused = await ask(account, {})
    expectProblem(refused, 'insufficient_balance', { message: /may cost up to 0\.10 USD/ })
    expect(stepOf(refused)).toBeNull()
    expect(await account.wallet()).toMatchObject({ balance: nanoOf('0.005'), held: 0n })
  })

  it('is left where a cap or a run has too little for the whole answer, before an answer is shortened', async () => {
    const account = await openAccount(server())
    const capped = await account.createKey({ caps: { day: '0.15' } })
    expect((await ask(capped, {})).json.model).toBe('grand')
    expect((await ask(capped, {})).json.model).toBe('petite')
    const run = 'fix; max=0.50'
    const answers = []
    for (let turn = 0; turn < 6; turn++) answers.push(await ask(account, { max_tokens: 400 }, { run }))
    expect(answers.map(({ status, json }) => `${status} ${json.model ?? json.error.code}`)).toEqual([
      ...['200 grand', '200 petite', '200 petite'],
      // 0.02 is left, which is a shorter answer of the cheaper model.
      ...['200 petite', '402 run_budget_exceeded', '402 run_budget_exceeded'],
    ])
    const used = (await get(server(), account, '/runs/fix')).json.used
    expect(nanoOf(used.cost)).toBeLessThanOrEqual(nanoOf('0.50'))
  })

  it('is that of the key before that of the model, and any model of the key has it', async () => {
    const account = await openAccount(server(), { credit: '0.06' })
    const key = await account.createKey({ step_down: { to: 'mute', below_percent: 0 } })
    for (const model of ['grand', 'paid']) {
      const answer = await ask(key, { model })
      expect([answer.status, answer.json.model, stepOf(answer)]).toEqual([200, 'mute', model])
    }
    expect((await ask(key, { model: 'mute' })).json.model).toBe('mute')
    expectProblem(await ask(account, { model: 'paid' }), 'insufficient_balance')
    await server().operate('keys.change', { key: key.id, step_down: null })
    expectProblem(await ask(key, { model: 'paid' }), 'insufficient_balance')
    expect((await ask(key, {})).json.model).toBe('petite')
    // A day's cap of the key, with a share.
    await account.credit('1.00')
    const capped = await account.createKey({ caps: { day: '0.03' }, step_down: { to: 'petite', below_percent: 50 } })
    const served = []
    for (let turn = 0; turn < 4; turn++) served.push((await ask(capped, { max_tokens: 10 })).json.model)
    expect(served).toEqual(['grand', 'grand', 'petite', 'petite'])
    const unknown = { step_down: { to: 'nowhere', below_percent: 0 } }
    await expect(account.createKey(unknown)).rejects.toThrow(/no model "nowhere" for wallet keys to step down to/)
  })

  it('is kept where the key may not call the cheaper one', async () => {
    const account = await openAccount(server(), { credit: '0.05' })
    const narrow = await account.createKey({ models: ['grand'] })
    expectProblem(await ask(narrow, {}), 'insufficient_balance')
    expect((await ask(narrow, { max_tokens: 20 })).json.model).toBe('grand')
    // A run of its own is shortened then, as ever.
    const rich = await openAccount(server())
    const other = await rich.createKey({ models: ['grand'] })
    const answer = await ask(other, { max_tokens: 900 }, { run: 'long; max=0.60' })
    expect([answer.status, answer.json.model, answer.headers.get('x-millrace-max-output-tokens')]).toEqual([
      ...[200, 'grand', '600'],
    ])
  })

  it('never goes to a dearer model, even where the key names one', async () => {
    const account = await openAccount(server())
    const caps = { day: '0.10' }
    const key = await account.createKey({ caps, step_down: { to: 'grand', below_percent: 100 } })
    for (const run of ['small; max=0.05', undefined]) {
      const answer = await ask(key, { model: 'petite' }, run === undefined ? {} : { run })
      expect([answer.status, answer.json.model, stepOf(answer)]).toEqual([200, 'petite', null])
    }
    const pattern = { step_down: { to: 'pet*', below_percent: 0 } }
    await expect(account.createKey(pattern)).rejects.toThrow(/to step down to/)
  })

  it('takes the effort along as far as the cheaper one has it', async () => {
    const account = await openAccount(server(), { credit: '0.09' })
    for (const [model, effort] of [
      ['grand', 'high'],
      ['grand', 'low'],
      ['grand-high', undefined],
      ['loud', 'high'],
    ] as const) {
      const answer = await ask(account, { model, reasoning_effort: effort })
      expect([answer.status, stepOf(answer)], `${model} ${effort}`).toEqual([200, model])
    }
    const responses = await ask(account, { reasoning: { effort: 'high', summary: 'auto' } }, { path: '/responses' })
    expect([responses.status, responses.json.model, responses.json.reasoning.effort]).toEqual([200, 'petite', 'low'])
  })

  it('is left for its lower effort where less than the share is left', async () => {
    const account = await openAccount(server())
    const run = 'calm; max=1.00'
    const seen = []
    for (let turn = 0; turn < 8; turn++)
      seen.push(stepOf(await ask(account, { model: 'calmer', max_tokens: 100, reasoning_effort: 'high' }, { run })))
    expect(seen).toEqual([null, null, null, null, null, null, 'calmer', 'calmer'])
    const { model } = await lastOf(account)
    expect(model).toBe('calmer')
  })

  it('charges a repeated request once, and streams', async () => {
    const account = await openAccount(server(), { credit: '0.05' })
    const once = { 'idempotency-key': 'once' }
    const body = { max_tokens: 100 }
    const first = await ask(account, body, once)
    const again = await ask(account, body, once)
    expect([first.json.model, again.json.model, again.headers.get('idempotency-replayed')]).toEqual([
      ...['petite', 'petite', 'true'],
    ])
    expect((await account.wallet()).balance).toBe(nanoOf('0.04'))
    const stream = await send(server(), account, { model: 'grand', messages: hello(), ...body, stream: true })
    expect([stream.status, stepOf(stream)]).toEqual([200, 'grand'])
    expect(await stream.text()).toContain('"model":"petite"')
  })

  it('never overdraws a run whose children ask at once', async () => {
    const account = await openAccount(server())
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => ask(account, { max_tokens: 20 }, { run: 'swarm; max=0.10' })),
    )
    for (const { status, json } of answers)
      if (status !== 200) expect(['run_budget_exceeded', 'balance_in_flight']).toContain(json.error.code)
    const { used } = (await get(server(), account, '/runs/swarm')).json
    expect(nanoOf(used.cost)).toBeLessThanOrEqual(nanoOf('0.10'))
    const spent = nanoOf('10.00') - (await account.wallet()).balance
    expect(spent).toBe(nanoOf(used.cost))
  })

  it('refuses the tag from a client', async () => {
    const account = await openAccount(server())
    expectProblem(await ask(account, {}, { 'x-millrace-tags': 'stepped-down=x' }), 'invalid_value')
  })
})

describe('the effort of a request that steps down', () => {
  let server: TestServer
  let far: FaultUpstream
  beforeAll(async () => {
    far = await startFaultUpstream((model) =>
      model.startsWith('r-')
        ? responsesAnswer('everything', { modelState: POLITE, name: 'far' })
        : chatAnswer({ modelState: POLITE }),
    )
    const lane = (id: string, upstream: string, output: string, more: string) =>
      `\n  - { id: ${id}, context_tokens: 128000, max_output_tokens: 4096, price: { input: "0", output: "${output}" }, ${more}, lanes: [{ upstream: ${upstream}, model: ${id} }] }`
    const of = (prefix: string, upstream: string) =>
      [
        lane(`${prefix}large`, upstream, '1000', `efforts: [low, high], step_down: { to: ${prefix}small }`),
        lane(`${prefix}small`, upstream, '1', 'efforts: [low, medium]'),
        lane(`${prefix}loud`, upstream, '1000', `step_down: { to: ${prefix}mute }`),
        lane(`${prefix}mute`, upstream, '1', 'efforts: []'),
      ].join('')
    const base = `base_url: "${far.baseUrl}", allow_private: true, api_key: secret`
    server = await startServer({
      config: `upstreams:\n  - { id: far, wire: chat, ${base} }\n  - { id: far-r, wire: responses, ${base} }\nmodels:${of('', 'far')}${of('r-', 'far-r')}\n`,
    })
  })
  afterAll(async () => {
    await server.close()
    await far.close()
  })

  it.each([
    ...(['chat', 'responses'] as const).flatMap((client) =>
      ['', 'r-'].flatMap((lane) => [
        { client, model: `${lane}large`, effort: 'high', sent: 'low' },
        { client, model: `${lane}large`, effort: 'low', sent: 'low' },
        { client, model: `${lane}large-high`, effort: undefined, sent: undefined },
        { client, model: `${lane}loud`, effort: 'high', sent: undefined },
        { client, model: `${lane}large`, effort: 'high', also: { reasoning: { effort: 'high' } }, sent: 'low' },
        { client, model: `${lane}loud`, effort: 'high', also: { reasoning: { effort: 'high' } }, sent: undefined },
      ]),
    ),
  ])('is what the cheaper one has: $client, $model, $effort', async ({ client, model, effort, sent, also }) => {
    const account = await openAccount(server, { credit: '0.05' })
    far.forget()
    const isChat = client === 'chat'
    const body = isChat
      ? { messages: hello(), max_tokens: 100, reasoning_effort: effort, ...also }
      : { messages: undefined, input: 'hi', max_output_tokens: 100, reasoning: effort && { effort, summary: 'auto' } }
    const answer = await chat(
      server,
      account,
      { model, ...body },
      { path: isChat ? '/chat/completions' : '/responses' },
    )
    expect(answer.status, JSON.stringify(answer.json)).toBe(200)
    expect([answer.status, answer.headers.get('x-millrace-stepped-down')]).toEqual([200, model])
    const asked = far.providerAnswers[0]!.receivedRequest as {
      reasoning_effort?: string
      reasoning?: { effort?: string }
    }
    expect(asked.reasoning_effort ?? asked.reasoning?.effort).toBe(sent)
  })
})
