import { describe, expect, it } from 'vitest'
import { expectProblem } from '../../support/expect-problem.ts'
import { openAccount } from '../../support/test-account.ts'
import { COUNT, COUNTED } from './chat-shapes.ts'
import { DELIVERIES, type Protocol, parseShape, sendShape } from './send-shape.ts'
import { LANES, lastReceived, modelsOf, useShapes } from './shapes-server.ts'

const setup = useShapes()

/** How an effort is written, and the name under which a refusal speaks of it. */
interface Spelling {
  readonly spelling: string
  readonly protocol: Protocol
  readonly param: string
  readonly fields: (effort: string) => object
}

const messages = [{ role: 'user', content: COUNT }]
const SPELLINGS: readonly Spelling[] = [
  {
    ...{ spelling: 'reasoning_effort on chat', protocol: 'chat', param: 'reasoning_effort' },
    fields: (effort) => ({ messages, reasoning_effort: effort }),
  },
  {
    ...{ spelling: 'reasoning.effort on chat', protocol: 'chat', param: 'reasoning.effort' },
    fields: (effort) => ({ messages, reasoning: { effort } }),
  },
  {
    ...{ spelling: 'both on chat, which agree', protocol: 'chat', param: 'reasoning_effort' },
    fields: (effort) => ({ messages, reasoning: { effort }, reasoning_effort: effort }),
  },
  {
    ...{ spelling: 'reasoning.effort on responses', protocol: 'responses', param: 'reasoning.effort' },
    fields: (effort) => ({ input: COUNT, reasoning: { effort } }),
  },
]

describe.each(LANES)('over $lane an agent that sends "medium" on every call', (lane) => {
  const { graded, plain } = modelsOf(lane)
  const isSeen = lane.model !== 'demo'

  describe.each(SPELLINGS)('as $spelling', ({ protocol, param, fields }) => {
    it.each([
      ['is served by a model that lists it', graded, 'medium'],
      ['is served by the id that ends in it', `${graded}-medium`, 'medium'],
      ['is served when it writes it in capitals', graded, 'MEDIUM'],
      ['is served by the id that ends in it when it writes it in capitals', `${graded}-medium`, 'Medium'],
    ])('%s', async (_what, model, effort) => {
      const account = await openAccount(setup())
      for (const delivery of DELIVERIES) {
        const { text } = await parseShape(setup(), account, { protocol, delivery }, { model, ...fields(effort) })
        expect(text).toBe(COUNTED)
        if (isSeen) expect(lastReceived(setup(), lane.model).effort).toBe('medium')
      }
    })

    it('gets the setting to turn off from a model without efforts', async () => {
      const account = await openAccount(setup())
      const answer = await sendShape(setup(), account, protocol, { model: plain, ...fields('medium') })
      expectProblem(answer, 'unsupported_value', { param })
      expect(answer.json.error.message).toContain(
        `${param} is 'medium', but the model '${plain}' has no effort levels: leave ${param} out. If your client adds it by itself, turn off its effort setting for this model.`,
      )
      expect(await account.receipts()).toEqual([])
    })

    it('gets the right id when the id ends in another effort', async () => {
      const account = await openAccount(setup())
      const answer = await sendShape(setup(), account, protocol, { model: `${graded}-high`, ...fields('medium') })
      expectProblem(answer, 'reasoning_effort_conflict', { param })
      for (const word of ["'high'", "'medium'", `Leave ${param} out`, `'${graded}'`]) {
        expect(answer.json.error.message).toContain(word)
      }
      expect(await account.receipts()).toEqual([])
    })

    it('gets the list of efforts when the model lacks it', async () => {
      const account = await openAccount(setup())
      const answer = await sendShape(setup(), account, protocol, { model: lane.model, ...fields('medium') })
      expectProblem(answer, 'unsupported_value', { param, message: /supports only low, high/ })
    })
  })

  it('may send two spellings only when they agree', async () => {
    const account = await openAccount(setup())
    const body = { model: graded, messages, reasoning_effort: 'low', reasoning: { effort: 'high' } }
    const answer = await sendShape(setup(), account, 'chat', body)
    expectProblem(answer, 'reasoning_effort_conflict', { param: 'reasoning.effort', message: /"low".*"high"/ })
    const { text } = await parseShape(
      ...([
        setup(),
        account,
        { protocol: 'chat', delivery: 'json' },
        { ...body, reasoning: { effort: 'LOW' } },
      ] as const),
    )
    expect(text).toBe(COUNTED)
  })

  it('may send "low" on a side call and nothing on the main call', async () => {
    const account = await openAccount(setup())
    for (const model of [graded, `${graded}-low`]) {
      for (const { protocol, fields } of SPELLINGS) {
        const variant = { protocol, delivery: 'stream' } as const
        expect((await parseShape(setup(), account, variant, { model, ...fields('low') })).text).toBe(COUNTED)
        if (isSeen) expect(lastReceived(setup(), lane.model).effort).toBe('low')
        const main = protocol === 'chat' ? { messages } : { input: COUNT }
        expect((await parseShape(setup(), account, variant, { model, ...main })).text).toBe(COUNTED)
        if (isSeen) expect(lastReceived(setup(), lane.model).effort).toBe(model === graded ? undefined : 'low')
      }
    }
  })
})
