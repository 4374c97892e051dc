import { describe, expect, it } from 'vitest'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { chatIn, type Delivery, type Item, shortly, toolMessagesOf } from './loops.ts'
import { type ReasoningModel, useReasoningServer } from './reasoning-server.ts'

const parameters = { type: 'object', properties: { q: { type: 'string' } } }
const TOOLS = ['look_up', 'ping'].map((name) => ({ type: 'function', function: { name, parameters } }))
const ASKED = { tools: TOOLS, reasoning_effort: 'low' }
const HOUR_MS = 3_600_000

describe('sealed reasoning for chat clients', () => {
  const setup = useReasoningServer()

  /** Says something and does what it is asked to, until nothing is called any more. */
  const loop = async (
    account: TestAccount,
    messages: readonly Item[],
    { model, delivery }: { readonly model: ReasoningModel; readonly delivery: Delivery },
  ): Promise<Item[]> => {
    const emitted = [...messages]
    for (;;) {
      const answer = await chatIn(setup(), account, { ...ASKED, model, delivery, messages: emitted })
      emitted.push(answer)
      const results = toolMessagesOf(answer, 'found')
      if (results.length === 0) return emitted
      emitted.push(...results)
    }
  }
  const user = (content: string): Item => ({ role: 'user', content })

  it.each(['stream', 'json'] as const)('is restored with its tool calls: %s', async (delivery) => {
    const account = await openAccount(setup().server)
    const model = 'sealing'
    const receivedRequest = { ...ASKED, model, delivery }
    const messages = [user('Use look_up then ping.')]
    const seals: string[] = []
    for (let turn = 0; turn < 2; turn++) {
      const answer = await chatIn(setup(), account, { ...receivedRequest, messages })
      seals.push(setup().lastSeal('first'))
      messages.push(answer, ...toolMessagesOf(answer, 'found'))
    }
    const end = await chatIn(setup(), account, { ...receivedRequest, messages })
    expect(end.content).toContain('"found" and "found"')
    const history = ['user', seals[0], 'look_up()', 'result', seals[1], 'ping()', 'result']
    expect(shortly(setup().parsedOutput('first'))).toEqual(history)

    // Another loop of the same conversation, a while later.
    setup().server.advance(HOUR_MS / 2)
    await loop(account, [...messages, end, user('Use ping now.')], { model, delivery })
    expect(shortly(setup().parsedOutput('first')).slice(0, history.length)).toEqual(history)
    expect(shortly(setup().parsedOutput('first')).filter((each) => each.startsWith('sealed-'))).toHaveLength(3)
    setup().server.advance(HOUR_MS / 2)
    await chatIn(setup(), account, { ...receivedRequest, messages })
    expect(shortly(setup().parsedOutput('first'))).toEqual(history)
    expect(setup().timesCalled('first')).toBe(6)
  })

  it('is restored once, before parallel calls', async () => {
    const account = await openAccount(setup().server)
    await loop(account, [user('Use look_up and ping.')], { model: 'sealing', delivery: 'stream' })
    const [, seal, ...calls] = shortly(setup().parsedOutput('first'))
    expect([seal, calls]).toEqual([
      expect.stringMatching(/^sealed-by-first-/),
      ['look_up()', 'ping()', 'result', 'result'],
    ])
  })

  it.each([
    ['another provider', 'elsewhere', 'second'],
    ['another model of the same provider', 'sibling', 'first'],
  ] as const)('is left out for %s, and restored on return', async (_who, next, provider) => {
    const account = await openAccount(setup().server)
    const messages = await loop(account, [user('Use look_up now.')], { model: 'sealing', delivery: 'json' })
    const seal = setup().lastSeal('first')
    messages.push(user('count to 2'))
    messages.push(await chatIn(setup(), account, { ...ASKED, model: next, delivery: 'json', messages }))
    expect(shortly(setup().parsedOutput(provider))).toEqual(['user', 'look_up()', 'result', 'assistant', 'user'])
    messages.push(user('count to 3'))
    await chatIn(setup(), account, { ...ASKED, model: 'sealing', delivery: 'stream', messages })
    const back = shortly(setup().parsedOutput('first'))
    expect(back[1]).toMatch(/^sealed-by-first-/)
    expect(back[1]).not.toBe(seal)
    expect(back.slice(2)).toEqual(['look_up()', 'result', 'assistant', 'user', 'assistant', 'user'])
    expect(setup().timesCalled('first') + setup().timesCalled('second')).toBe(4)
  })

  it('does not prevent failover', async () => {
    const account = await openAccount(setup().server)
    const messages = [user('Use look_up now.')]
    const answer = await chatIn(setup(), account, { ...ASKED, model: 'moving', delivery: 'stream', messages })
    setup().isDown('first', true)
    messages.push(answer, ...toolMessagesOf(answer, 'found'))
    const end = await chatIn(setup(), account, { ...ASKED, model: 'moving', delivery: 'stream', messages })
    expect(end.content).toContain('found')
    expect(shortly(setup().parsedOutput('second'))).toEqual(['user', 'look_up()', 'result'])
  })

  it('is charged like input the client sent', async () => {
    const [account, stranger] = [await openAccount(setup().server), await openAccount(setup().server)]
    const messages = [user('Use look_up now.')]
    const answer = await chatIn(setup(), account, { ...ASKED, model: 'sealing', delivery: 'json', messages })
    messages.push(answer, ...toolMessagesOf(answer, 'found'))
    const estimates: number[] = []
    for (const who of [account, stranger]) {
      for (const model of ['sealing', 'elsewhere']) {
        await chatIn(setup(), who, { ...ASKED, model, delivery: 'json', messages })
        const [receipt] = (await who.receipts()).slice(-1)
        estimates.push(Number(receipt?.input_estimate))
      }
    }
    const [known, ...without] = estimates
    // Only the model that sealed it gets it back, and only for the account that received it.
    expect(new Set(without).size).toBe(1)
    expect(known).toBeGreaterThan(without[0]!)
  })

  it('is left out when unknown: after an hour, for another account, or when it cannot be opened', async () => {
    const [account, stranger] = [await openAccount(setup().server), await openAccount(setup().server)]
    const messages = [user('Use look_up now.')]
    const answer = await chatIn(setup(), account, { ...ASKED, model: 'sealing', delivery: 'stream', messages })
    messages.push(answer, ...toolMessagesOf(answer, 'found'))
    const without = ['user', 'look_up()', 'result']
    const receivedRequest = { ...ASKED, model: 'sealing', delivery: 'json', messages } as const

    await chatIn(setup(), stranger, receivedRequest)
    expect(shortly(setup().parsedOutput('first'))).toEqual(without)
    await chatIn(setup(), account, receivedRequest)
    expect(shortly(setup().parsedOutput('first'))).toHaveLength(4)

    setup().forgetsItsSeals('first')
    await chatIn(setup(), account, receivedRequest)
    expect(shortly(setup().parsedOutput('first'))).toEqual(without)
    expect(setup().timesCalled('first')).toBe(5)

    setup().server.advance(HOUR_MS)
    await chatIn(setup(), account, receivedRequest)
    expect(shortly(setup().parsedOutput('first'))).toEqual(without)
    expect(setup().timesCalled('first')).toBe(6)
  })
})
