import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { chat, get, hello } from '../../support/send-chat.ts'
import { nanoOf, openAccount } from '../../support/test-account.ts'
import { PLANS_CONFIG } from '../../support/test-config.ts'
import { useServer } from '../../support/use-server.ts'

const server = useServer({ config: `${PLANS_CONFIG}\nhold: { uncapped_tokens_min: 100 }\n` })

/** Costs and holds a thousandth of a dollar a token. */
const ask = (
  key: { readonly key: string },
  body: object,
  options: { headers?: Record<string, string>; path?: string } = {},
) => chat(server(), key, { model: 'paid', max_tokens: 10, ...body }, options)
const about = (text: string, ...more: object[]) => ({ messages: [...hello(text), ...more] })
const ANSWERED = [
  { role: 'assistant', content: 'One.' },
  { role: 'user', content: 'And then?' },
]

describe('a key that requires a run', () => {
  it('refuses requests without one before their body, on every endpoint, and says what to send', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ run: 'required' })
    for (const path of ['/chat/completions', '/responses', '/responses/compact'])
      expectProblem(await ask(key, { messages: 'no list' }, { path }), 'run_required', {
        param: 'x-millrace-run',
        message: /`x-millrace-run` with an id and a budget, such as `fix-17; max=0\.50`/,
      })
    const headers = { 'idempotency-key': 'once' }
    expectProblem(await ask(key, about('hi'), { headers }), 'run_required')
    expect((await ask(key, about('hi'), { headers: { 'x-millrace-run': 'fix; max=0.05' } })).status).toBe(200)
    expect((await account.wallet()).balance).toBe(nanoOf('9.99'))
    // Another key of the account needs none.
    expect((await ask(account, about('hi'))).status).toBe(200)
  })

  it('changes with the next request', async () => {
    const account = await openAccount(server())
    const key = await account.createKey()
    expect((await ask(key, about('hi'))).status).toBe(200)
    await server().operate('keys.change', { key: key.id, run: 'required' })
    expectProblem(await ask(key, about('hi')), 'run_required')
    expect((await server().operate('keys.show', { key: key.id })).run).toBe('required')
    await server().operate('keys.change', { key: key.id, run: null })
    expect((await ask(key, about('hi'))).status).toBe(200)
  })
})

describe('a key that gives each conversation a run', () => {
  const rule = { each_conversation: { max: '0.05' } }
  const runIn = (answer: { readonly headers: Headers }) => answer.headers.get('x-millrace-run') ?? ''

  it('bounds the turns of each by themselves, and those of one together', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ run: rule })
    const first = await ask(key, { ...about('count to 5000'), max_tokens: 30 })
    expect(first.status).toBe(200)
    expect(runIn(first)).toMatch(/^conversation-[\w-]{22}$/)
    const second = await ask(key, { ...about('count to 5000', ...ANSWERED), max_tokens: 20 })
    expect([second.status, runIn(second)]).toEqual([200, runIn(first)])
    const third = await ask(key, { ...about('count to 5000', ...ANSWERED, ...ANSWERED), max_tokens: 20 })
    expectProblem(third, 'run_budget_exceeded', {
      message: /^This conversation may spend 0\.05 USD in total; 0\.05 USD has been spent.*Begin a new conversation/,
    })
    const other = await ask(key, { ...about('count to 4000'), max_tokens: 30 })
    expect(other.status).toBe(200)
    expect(runIn(other)).not.toBe(runIn(first))
    expect((await get(server(), key, `/runs/${runIn(first)}`)).json).toMatchObject({
      ...{ budget: { cost: '0.05' }, used: { cost: '0.05', requests: 2 }, remaining: { cost: '0.00' } },
    })
    const [receipt] = await account.receipts()
    expect(JSON.parse(receipt!.tags!)).toEqual([`run:${runIn(first)}`])
    expect((await account.wallet()).balance).toBe(nanoOf('9.92'))
  })

  it('alone begins runs of conversations', async () => {
    const account = await openAccount(server())
    const headers = { 'x-millrace-run': 'conversation-abc; max=1' }
    expectProblem(await ask(account, about('hi'), { headers }), 'invalid_value', { message: /conversation-/ })
    const [one, other] = [await account.createKey({ run: rule }), await account.createKey({ run: rule })]
    const first = runIn(await ask(one, about('hi')))
    expect(runIn(await ask(other, about('hi')))).not.toBe(first)
    expect(runIn(await ask(one, about('hi'), { headers: { 'x-millrace-run': first } }))).toBe(first)
  })

  it('knows a conversation by its cache key, over a chain of responses, and the same for both protocols', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ run: rule })
    const cached = { prompt_cache_key: 'thread-1' }
    const chatTurn = await ask(key, { ...about('one text'), ...cached })
    const responsesTurn = await ask(
      key,
      { ...cached, input: 'another text', messages: undefined, max_tokens: undefined, max_output_tokens: 20 },
      { path: '/responses' },
    )
    expect(responsesTurn.status).toBe(200)
    expect(runIn(responsesTurn)).toBe(runIn(chatTurn))
    const respond = (body: object) =>
      ask(key, { messages: undefined, max_tokens: undefined, max_output_tokens: 20, ...body }, { path: '/responses' })
    const opened = await respond({ input: 'a chain begins' })
    const next = await respond({ input: 'and goes on', previous_response_id: opened.json.id })
    expect([opened.status, next.status, runIn(next)]).toEqual([200, 200, runIn(opened)])
    expect(runIn(opened)).not.toBe(runIn(chatTurn))
    // A conversation that begins elsewhere has its own, and so has that of another key.
    const twin = await account.createKey({ run: rule })
    expect(runIn(await ask(twin, { ...about('one text'), ...cached }))).not.toBe(runIn(chatTurn))
  })

  it('leaves a run that the client names to the client', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ run: rule })
    const headers = { 'x-millrace-run': 'named; max=0.20' }
    const answer = await ask(key, { ...about('count to 5000'), max_tokens: 100 }, { headers })
    expect([answer.status, runIn(answer)]).toEqual([200, 'named'])
  })

  it('keeps the budget of a conversation that has begun when that of the key changes', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ run: { each_conversation: { max_requests: 2, ends: '2h' } } })
    expect((await ask(key, about('hi'))).status).toBe(200)
    await server().operate('keys.change', { key: key.id, run: { each_conversation: { max_requests: 9 } } })
    expect((await ask(key, about('hi'))).status).toBe(200)
    expectProblem(await ask(key, about('hi')), 'run_budget_exceeded', {
      message: /^This conversation may use 2 requests; 2 .* Begin a new conversation\.$/,
    })
    for (let turn = 0; turn < 4; turn++) expect((await ask(key, about('ho'))).status).toBe(200)
    server().advance(2 * 3_600_000)
    expectProblem(await ask(key, about('hi')), 'run_budget_exceeded', {
      message: /ended at .* Begin a new conversation/,
    })
  })

  it('has a name for requests of every shape, which later turns keep', async () => {
    const account = await openAccount(server())
    const key = await account.createKey({ run: rule })
    const large = { role: 'user', content: 'a'.repeat(300 * 1024) }
    const turns = [
      [{ role: 'assistant', content: 'first' }],
      [{ role: 'system', content: 'alone' }],
      Array.from({ length: 20 }, () => ({ role: 'developer', content: 'rule' })),
      [large],
    ]
    const names = new Set<string>()
    for (const messages of turns) {
      const answer = await ask(key, { model: 'swift', messages })
      const again = await ask(key, { model: 'swift', messages: [...messages, { role: 'assistant', content: 'more' }] })
      expect([answer.status, again.status]).toEqual([200, 200])
      expect(runIn(again)).toBe(runIn(answer))
      names.add(runIn(answer))
    }
    expect(names.size).toBe(turns.length)
  })
})

describe('the rule of a key', () => {
  it('is refused with the name of what is wrong', async () => {
    const account = await openAccount(server())
    for (const run of [
      'always',
      { each_conversation: {} },
      { each_conversation: { ends: '2h' } },
      { each_conversation: { max: '0' } },
      { each_conversation: { max: '-1' } },
      { each_conversation: { max: '1000001' } },
      { each_conversation: { max: '1', ends: '2027-01-01' } },
      { each_conversation: { max_requests: 1.5 } },
      { each_conversation: { max: '1', budget: 1 } },
    ])
      await expect(account.createKey({ run: run as never }), JSON.stringify(run)).rejects.toThrow(/run/)
    const made = await account.createKey({ run: { each_conversation: { max: '0.5', max_tokens: 1000 } } })
    expect(made.run).toEqual({ each_conversation: { max: '0.50', max_tokens: 1000 } })
  })
})
