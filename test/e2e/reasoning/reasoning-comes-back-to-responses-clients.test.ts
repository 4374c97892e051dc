import { describe, expect, it } from 'vitest'
import type { Fields } from '../../../src/lib/types.ts'
import { get } from '../../support/send-chat.ts'
import { respond } from '../../support/send-responses.ts'
import { openAccount } from '../../support/test-account.ts'
import { LOOK_UP, PATCH, PING } from '../responses/tools.ts'
import { type Delivery, type Item, respondIn, resultsOf, shortly } from './loops.ts'
import { type ReasoningModel, useReasoningHouse } from './reasoning-server.ts'

const INCLUDE = ['reasoning.encrypted_content']
const DELIVERIES: readonly Delivery[] = ['stream', 'json']
/** One lane that gets the request as it is, and one to which it is translated, because it knows no custom tools. */
const LANES = { sealing: [LOOK_UP, PING], functions: [LOOK_UP, PING, PATCH] } as const

/** How a client goes on from an answer: what it sends beside its tools, and how it sends an item of an answer again. */
interface Way {
  readonly asks: Fields
  readonly carries: 'everything' | 'the id of the response'
  readonly again: (item: Item) => Item
}

const WAYS: Readonly<Record<string, Way>> = {
  'carrying the items': { asks: { store: false, include: INCLUDE }, carries: 'everything', again: (item) => item },
  'carrying them as Codex does': {
    asks: { store: false, include: INCLUDE },
    carries: 'everything',
    again: ({ type, id, encrypted_content, ...item }) =>
      type === 'reasoning'
        ? { type, id, summary: [], content: null, encrypted_content }
        : { type, id, encrypted_content, ...item },
  },
  'by references to what is stored': {
    asks: {},
    carries: 'everything',
    again: ({ id }) => ({ type: 'item_reference', id }),
  },
  'by the id of the response': { asks: {}, carries: 'the id of the response', again: (item) => item },
}

const CASES = Object.keys(LANES).flatMap((lane) =>
  Object.keys(WAYS).flatMap((way) =>
    DELIVERIES.map((delivery) => [lane as keyof typeof LANES, way, delivery] as const),
  ),
)

describe('what a provider has sealed comes back to it', () => {
  const house = useReasoningHouse()

  it.each(CASES)('over the lane %s, %s, with answers as %s', async (model, way, delivery) => {
    const account = await openAccount(house().server)
    const { asks, carries, again } = WAYS[way]!
    const asked = { model, delivery, tools: LANES[model], reasoning: { effort: 'low' }, ...asks }
    let input: readonly Item[] = [{ role: 'user', content: 'Use look_up then ping.' }]
    const seals: string[] = []
    let goesOn: Fields = {}
    for (const tool of ['look_up', 'ping', undefined]) {
      const { id, output } = await respondIn(house(), account, { ...asked, ...goesOn, input })
      seals.push(house().lastSeal('first'))
      const [thought, said] = output
      expect([thought, said]).toMatchObject([
        { type: 'reasoning' },
        tool === undefined ? { role: 'assistant' } : { name: tool },
      ])
      if (asks.include) expect(thought?.encrypted_content).toMatch(/^mr1\./)
      else expect(thought).not.toHaveProperty('encrypted_content')
      const results = resultsOf(output, 'found')
      goesOn = carries === 'everything' ? {} : { previous_response_id: id }
      input = carries === 'everything' ? [...input, ...output.map(again), ...results] : results
    }
    expect(new Set(seals).size).toBe(3)
    const [first, second] = seals
    expect(shortly(house().heard('first'))).toEqual([
      ...['user', first, 'look_up()', 'result', second, 'ping()', 'result'],
    ])
    expect(house().timesAsked('first')).toBe(3)
  })

  it('is shown in one envelope, wherever it is told, and kept for who may ask for it', async () => {
    const account = await openAccount(house().server)
    const asked = { model: 'sealing', reasoning: { effort: 'low' }, input: 'Good day' }
    const shown = await respondIn(house(), account, { ...asked, delivery: 'stream', include: INCLUDE })
    expect(new Set(shown.text.match(/mr1\.[\w.-]+/g)).size).toBe(1)
    const stored = await get(house().server, account, `/responses/${shown.id}`)
    expect(stored.json.output).toEqual(shown.output)
    const hidden = await respondIn(house(), account, { ...asked, delivery: 'stream' })
    expect(hidden.text).not.toContain('encrypted_content"')
    expect((await get(house().server, account, `/responses/${hidden.id}`)).json.output).toEqual(hidden.output)
  })
})

describe('what was sealed elsewhere', () => {
  const house = useReasoningHouse()

  const begin = async (model: ReasoningModel) => {
    const account = await openAccount(house().server)
    const asked = {
      delivery: 'json',
      tools: [LOOK_UP],
      reasoning: { effort: 'low' },
      store: false,
      include: INCLUDE,
    } as const
    const question = [{ role: 'user', content: 'Use look_up now.' }]
    const { output } = await respondIn(house(), account, { ...asked, model, input: question })
    const input: readonly Item[] = [...question, ...output, ...resultsOf(output, 'found')]
    return {
      account,
      asked,
      input,
      goOn: (next: ReasoningModel) => respondIn(house(), account, { ...asked, model: next, input }),
    }
  }

  it.each([
    ['another provider', 'sealing', 'elsewhere', 'second'],
    ['another model of the same provider', 'sealing', 'sibling', 'first'],
    ['a lane of another protocol', 'deep', 'sealing', 'first'],
  ] as const)('is left out for %s', async (_who, model, next, provider) => {
    const { goOn } = await begin(model)
    const { output } = await goOn(next)
    expect(output.at(-1)).toMatchObject({ role: 'assistant' })
    expect(shortly(house().heard(provider))).toEqual(['user', 'look_up()', 'result'])
    // Nobody had to be asked twice.
    expect(house().timesAsked('first') + house().timesAsked('second') + house().timesAsked('deep')).toBe(2)
  })

  it('is left out after a failover in the middle of the conversation, and what is its own comes back', async () => {
    const account = await openAccount(house().server)
    const asked = {
      model: 'moving',
      tools: [LOOK_UP, PING],
      reasoning: { effort: 'low' },
      store: false,
      include: INCLUDE,
    }
    const question = { role: 'user', content: 'Use look_up then ping.' }
    const one = await respondIn(house(), account, { ...asked, delivery: 'stream', input: [question] })
    const [sealOfFirst] = [house().lastSeal('first')]
    const input = [question, ...one.output, ...resultsOf(one.output, 'found')]
    house().isDown('first', true)
    const two = await respondIn(house(), account, { ...asked, delivery: 'stream', input })
    expect(shortly(house().heard('second'))).toEqual(['user', 'look_up()', 'result'])
    house().isDown('first', false)
    house().isDown('second', true)
    const last = [...input, ...two.output, ...resultsOf(two.output, 'pong')]
    await respondIn(house(), account, { ...asked, delivery: 'json', input: last })
    expect(shortly(house().heard('first'))).toEqual(['user', sealOfFirst, 'look_up()', 'result', 'ping()', 'result'])
    expect((await account.receipts()).map(({ outcome }) => outcome)).toEqual(['completed', 'completed', 'completed'])
  })

  it('is refused where it is no envelope of ours, or of another account', async () => {
    const { asked, input, account } = await begin('sealing')
    const stranger = await openAccount(house().server)
    const native = input.map((item) =>
      item.type === 'reasoning' ? { ...item, encrypted_content: 'sealed-by-first-0' } : item,
    )
    for (const [who, items] of [
      [account, native],
      [stranger, input],
    ] as const) {
      const answer = await respond(house().server, who, { ...asked, model: 'sealing', input: items })
      expect(answer.json.error).toMatchObject({
        code: 'invalid_encrypted_content',
        param: 'input[1].encrypted_content',
      })
    }
    expect(house().timesAsked('first')).toBe(1)
  })
})

describe('the reasoning of a lane that speaks Chat', () => {
  const house = useReasoningHouse()

  it.each(Object.keys(WAYS).flatMap((way) => DELIVERIES.map((delivery) => [way, delivery] as const)))(
    'goes back with its calls, %s, with answers as %s',
    async (way, delivery) => {
      const account = await openAccount(house().server)
      const { asks, carries, again } = WAYS[way]!
      const asked = { model: 'deep', delivery, tools: [LOOK_UP], reasoning: { effort: 'low' }, ...asks }
      const question = { role: 'user', content: 'Use look_up now.' }
      const one = await respondIn(house(), account, { ...asked, input: [question] })
      const results = resultsOf(one.output, 'found')
      const two = await respondIn(house(), account, {
        ...asked,
        ...(carries === 'everything'
          ? { input: [question, ...one.output.map(again), ...results] }
          : { previous_response_id: one.id, input: results }),
      })
      expect(JSON.stringify(two.output)).toContain('found')
      expect(house().heard('deep')).toMatchObject([
        { role: 'user' },
        { role: 'assistant', reasoning_content: 'Let me think.', tool_calls: [{}] },
        { role: 'tool' },
      ])
    },
  )
})

describe('a provider that cannot open any more what it has sealed', () => {
  const house = useReasoningHouse()

  const HOW: Readonly<Record<string, () => void>> = {
    'with a status': () => house().forgetsItsSeals('first'),
    'inside its answer': () => house().refusesInsideItsAnswer('first'),
  }
  const cases = Object.keys(HOW).flatMap((how) =>
    Object.keys(LANES).flatMap((lane) =>
      DELIVERIES.map((delivery) => [how, lane as keyof typeof LANES, delivery] as const),
    ),
  )

  it.each(cases)(
    'and says so %s, is asked without it: over the lane %s, answers as %s',
    async (how, model, delivery) => {
      const account = await openAccount(house().server)
      const asked = { model, delivery, tools: LANES[model], reasoning: { effort: 'low' } }
      const one = await respondIn(house(), account, { ...asked, input: 'Use look_up now.' })
      HOW[how]!()
      const two = await respondIn(house(), account, {
        ...asked,
        ...{ previous_response_id: one.id, input: resultsOf(one.output, 'found') },
      })
      expect(JSON.stringify(two.output)).toContain('found')
      expect(shortly(house().heard('first'))).toEqual(['user', 'look_up()', 'result'])
      expect(house().timesAsked('first')).toBe(3)
      const receipts = await account.receipts()
      expect(receipts.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
      expect(JSON.parse(String(receipts[1]?.attempts))).toHaveLength(2)
    },
  )
})
