import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { get } from '../../support/send-chat.ts'
import { respond } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { LOOK_UP, PATCH, PING } from '../responses/tools.ts'
import { type Delivery, type Item, respondIn, resultsOf, shortly } from './loops.ts'
import { type ReasoningModel, type ReasoningServer, SIGNED, useReasoningServer } from './reasoning-server.ts'

const INCLUDE = ['reasoning.encrypted_content']
const DELIVERIES: readonly Delivery[] = ['stream', 'json']
/** One lane that gets the request as it is, and one to which it is translated, because it knows no custom tools. */
const LANES = { sealing: [LOOK_UP, PING], functions: [LOOK_UP, PING, PATCH] } as const

/** How a client goes on from an answer: what it sends beside its tools, and how it sends an item of an answer again. */
interface Variant {
  readonly sends: Fields
  readonly carries: 'everything' | 'the id of the response'
  readonly again: (item: Item) => Item
}

const WAYS: Readonly<Record<string, Variant>> = {
  'carrying the items': { sends: { store: false, include: INCLUDE }, carries: 'everything', again: (item) => item },
  'carrying them as Codex does': {
    sends: { store: false, include: INCLUDE },
    carries: 'everything',
    again: ({ type, id, encrypted_content, ...item }) =>
      type === 'reasoning'
        ? { type, id, summary: [], content: null, encrypted_content }
        : { type, id, encrypted_content, ...item },
  },
  'carrying them without their seals, which are stored': {
    sends: {},
    carries: 'everything',
    again: (item) => item,
  },
  'by references to what is stored': {
    sends: {},
    carries: 'everything',
    again: ({ id }) => ({ type: 'item_reference', id }),
  },
  'by the id of the response': { sends: {}, carries: 'the id of the response', again: (item) => item },
}

const CASES = Object.keys(LANES).flatMap((lane) =>
  Object.keys(WAYS).flatMap((variant) =>
    DELIVERIES.map((delivery) => [lane as keyof typeof LANES, variant, delivery] as const),
  ),
)

describe('sealed reasoning returns to its provider', () => {
  const setup = useReasoningServer()

  it.each(CASES)('over the lane %s, %s, with answers as %s', async (model, variant, delivery) => {
    const account = await openAccount(setup().server)
    const { sends, carries, again } = WAYS[variant]!
    const receivedRequest = { model, delivery, tools: LANES[model], reasoning: { effort: 'low' }, ...sends }
    let input: readonly Item[] = [{ role: 'user', content: 'Use look_up then ping.' }]
    const seals: string[] = []
    let goesOn: Fields = {}
    for (const tool of ['look_up', 'ping', undefined]) {
      const { id, output } = await respondIn(setup(), account, { ...receivedRequest, ...goesOn, input })
      seals.push(setup().lastSeal('first'))
      const [thought, emitted] = output
      expect([thought, emitted]).toMatchObject([
        { type: 'reasoning' },
        tool === undefined ? { role: 'assistant' } : { name: tool },
      ])
      if (sends.include) expect(thought?.encrypted_content).toMatch(/^mr1\./)
      else expect(thought).not.toHaveProperty('encrypted_content')
      const results = resultsOf(output, 'found')
      goesOn = carries === 'everything' ? {} : { previous_response_id: id }
      input = carries === 'everything' ? [...input, ...output.map(again), ...results] : results
    }
    expect(new Set(seals).size).toBe(3)
    const [first, second] = seals
    expect(shortly(setup().parsedOutput('first'))).toEqual([
      ...['user', first, 'look_up()', 'result', second, 'ping()', 'result'],
    ])
    expect(setup().timesCalled('first')).toBe(3)
  })

  it('is the same envelope in every event, and stored', async () => {
    const account = await openAccount(setup().server)
    const receivedRequest = { model: 'sealing', reasoning: { effort: 'low' }, input: 'Good day' }
    const shown = await respondIn(setup(), account, { ...receivedRequest, delivery: 'stream', include: INCLUDE })
    expect(new Set(shown.text.match(/mr1\.[\w.-]+/g)).size).toBe(1)
    const stored = await get(setup().server, account, `/responses/${shown.id}`)
    expect(stored.json.output).toEqual(shown.output)
    const hidden = await respondIn(setup(), account, { ...receivedRequest, delivery: 'stream' })
    expect(hidden.text).not.toContain('encrypted_content"')
    expect((await get(setup().server, account, `/responses/${hidden.id}`)).json.output).toEqual(hidden.output)
  })
})

describe('reasoning sealed elsewhere', () => {
  const setup = useReasoningServer()

  const begin = async (model: ReasoningModel) => {
    const account = await openAccount(setup().server)
    const receivedRequest = {
      delivery: 'json',
      tools: [LOOK_UP],
      reasoning: { effort: 'low' },
      store: false,
      include: INCLUDE,
    } as const
    const question = [{ role: 'user', content: 'Use look_up now.' }]
    const { output } = await respondIn(setup(), account, { ...receivedRequest, model, input: question })
    const input: readonly Item[] = [...question, ...output, ...resultsOf(output, 'found')]
    return {
      account,
      receivedRequest,
      input,
      goOn: (next: ReasoningModel) => respondIn(setup(), account, { ...receivedRequest, model: next, input }),
    }
  }

  it.each([
    ['another provider', 'sealing', 'elsewhere', 'second'],
    ['another model of the same provider', 'sealing', 'sibling', 'first'],
    ['a lane of another protocol', 'deep', 'sealing', 'first'],
  ] as const)('is dropped for %s', async (_who, model, next, provider) => {
    const { goOn } = await begin(model)
    const { output } = await goOn(next)
    expect(output.at(-1)).toMatchObject({ role: 'assistant' })
    expect(shortly(setup().parsedOutput(provider))).toEqual(['user', 'look_up()', 'result'])
    // The gateway called no provider twice.
    expect(setup().timesCalled('first') + setup().timesCalled('second') + setup().timesCalled('deep')).toBe(2)
  })

  it('is dropped after a mid-conversation failover, and own seals return', async () => {
    const account = await openAccount(setup().server)
    const receivedRequest = {
      model: 'moving',
      tools: [LOOK_UP, PING],
      reasoning: { effort: 'low' },
      store: false,
      include: INCLUDE,
    }
    const question = { role: 'user', content: 'Use look_up then ping.' }
    const one = await respondIn(setup(), account, { ...receivedRequest, delivery: 'stream', input: [question] })
    const [sealOfFirst] = [setup().lastSeal('first')]
    const input = [question, ...one.output, ...resultsOf(one.output, 'found')]
    setup().isDown('first', true)
    const two = await respondIn(setup(), account, { ...receivedRequest, delivery: 'stream', input })
    expect(shortly(setup().parsedOutput('second'))).toEqual(['user', 'look_up()', 'result'])
    setup().isDown('first', false)
    setup().isDown('second', true)
    const last = [...input, ...two.output, ...resultsOf(two.output, 'pong')]
    await respondIn(setup(), account, { ...receivedRequest, delivery: 'json', input: last })
    expect(shortly(setup().parsedOutput('first'))).toEqual([
      'user',
      sealOfFirst,
      'look_up()',
      'result',
      'ping()',
      'result',
    ])
    expect((await account.receipts()).map(({ outcome }) => outcome)).toEqual(['completed', 'completed', 'completed'])
  })

  it('is refused when it is not this account’s envelope', async () => {
    const { receivedRequest, input, account } = await begin('sealing')
    const stranger = await openAccount(setup().server)
    const native = input.map((item) =>
      item.type === 'reasoning' ? { ...item, encrypted_content: 'sealed-by-first-0' } : item,
    )
    for (const [who, items] of [
      [account, native],
      [stranger, input],
    ] as const) {
      const answer = await respond(setup().server, who, { ...receivedRequest, model: 'sealing', input: items })
      expect(answer.json.error).toMatchObject({
        code: 'invalid_encrypted_content',
        param: 'input[1].encrypted_content',
      })
    }
    expect(setup().timesCalled('first')).toBe(1)
  })
})

/** A call and what comes of it, which is the second answer. */
async function lookUp(
  server: ReasoningServer,
  account: Parameters<typeof respondIn>[1],
  asked: { readonly model: ReasoningModel; readonly delivery: Delivery; readonly reasoning?: Fields },
  variant: string,
) {
  const { sends, carries, again } = WAYS[variant]!
  const receivedRequest = { ...asked, tools: [LOOK_UP], ...sends }
  const question = { role: 'user', content: 'Use look_up now.' }
  const one = await respondIn(server, account, { ...receivedRequest, input: [question] })
  const results = resultsOf(one.output, 'found')
  return respondIn(server, account, {
    ...receivedRequest,
    ...(carries === 'everything'
      ? { input: [question, ...one.output.map(again), ...results] }
      : { previous_response_id: one.id, input: results }),
  })
}

describe('reasoning of a Chat lane', () => {
  const setup = useReasoningServer()

  it.each(Object.keys(WAYS).flatMap((variant) => DELIVERIES.map((delivery) => [variant, delivery] as const)))(
    'returns with its calls, %s, with answers as %s',
    async (variant, delivery) => {
      const account = await openAccount(setup().server)
      const two = await lookUp(setup(), account, { model: 'deep', delivery, reasoning: { effort: 'low' } }, variant)
      expect(JSON.stringify(two.output)).toContain('found')
      expect(setup().parsedOutput('deep')).toMatchObject([
        { role: 'user' },
        { role: 'assistant', reasoning_content: 'Let me think.', tool_calls: [{}] },
        { role: 'tool' },
      ])
    },
  )
})

describe('what a Chat lane has signed', () => {
  const setup = useReasoningServer()

  it.each(Object.keys(WAYS).flatMap((variant) => DELIVERIES.map((delivery) => [variant, delivery] as const)))(
    'returns as it was, %s, with answers as %s',
    async (variant, delivery) => {
      const account = await openAccount(setup().server)
      const two = await lookUp(setup(), account, { model: 'signing', delivery }, variant)
      expect(JSON.stringify(two.output)).toContain('found')
      const [, asked] = setup().parsedOutput('signing') as [unknown, { tool_calls: readonly { id: string }[] }]
      const [thought, sealed] = SIGNED.details
      expect(asked).toMatchObject({
        role: 'assistant',
        reasoning_details: [thought, { ...sealed, id: asked.tool_calls[0]!.id }],
        tool_calls: [{ function: { name: 'look_up' }, extra_content: SIGNED.extra }],
      })
      expect(setup().timesCalled('signing')).toBe(2)
    },
  )

  it.each(['deep', 'sealing', 'elsewhere'] as const)('is not shown to %s', async (next) => {
    const account = await openAccount(setup().server)
    const receivedRequest = { delivery: 'json', tools: [LOOK_UP], store: false, include: INCLUDE } as const
    const question = { role: 'user', content: 'Use look_up now.' }
    const one = await respondIn(setup(), account, { ...receivedRequest, model: 'signing', input: [question] })
    const input = [question, ...one.output, ...resultsOf(one.output, 'found')]
    await respondIn(setup(), account, { ...receivedRequest, model: next, input })
    const provider = next === 'deep' ? 'deep' : next === 'sealing' ? 'first' : 'second'
    const sent = JSON.stringify(setup().parsedOutput(provider))
    expect(sent).toContain('found')
    expect(sent).not.toMatch(/signed-|sealed-thought|extra_content/)
  })
})

describe('a provider that rejects its own seals', () => {
  const setup = useReasoningServer()

  const HOW: Readonly<Record<string, () => void>> = {
    'with a status': () => setup().forgetsItsSeals('first'),
    'inside its answer': () => setup().refusesInsideItsAnswer('first'),
  }
  const cases = Object.keys(HOW).flatMap((how) =>
    Object.keys(LANES).flatMap((lane) =>
      DELIVERIES.map((delivery) => [how, lane as keyof typeof LANES, delivery] as const),
    ),
  )

  it.each(cases)(
    'with an error %s gets a retry without them: over the lane %s, answers as %s',
    async (how, model, delivery) => {
      const account = await openAccount(setup().server)
      const receivedRequest = { model, delivery, tools: LANES[model], reasoning: { effort: 'low' } }
      const one = await respondIn(setup(), account, { ...receivedRequest, input: 'Use look_up now.' })
      HOW[how]!()
      const two = await respondIn(setup(), account, {
        ...receivedRequest,
        ...{ previous_response_id: one.id, input: resultsOf(one.output, 'found') },
      })
      expect(JSON.stringify(two.output)).toContain('found')
      expect(shortly(setup().parsedOutput('first'))).toEqual(['user', 'look_up()', 'result'])
      expect(setup().timesCalled('first')).toBe(3)
      const receipts = await account.receipts()
      expect(receipts.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
      expect(JSON.parse(String(receipts[1]?.attempts))).toHaveLength(2)
    },
  )
})
