import { describe, expect, it } from 'vitest'
import { expectProblem } from '../support/expect-problem.ts'
import { chat, hello } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

/** The demo thinks so many tokens; that is how the effort that arrived is seen. */
const THOUGHTS = { none: 0, low: 8, medium: 16, high: 32 }

type Effort = keyof typeof THOUGHTS

interface Row {
  readonly description: string
  readonly model: string
  readonly fields: object
  readonly effort: Effort
}

const SERVED: readonly Row[] = [
  { description: 'neither: the provider decides', model: 'swift', fields: {}, effort: 'none' },
  { description: 'neither, with null', model: 'swift', fields: { reasoning_effort: null }, effort: 'none' },
  { description: 'neither, with an empty object', model: 'swift', fields: { reasoning: {} }, effort: 'none' },
  { description: 'the field alone', model: 'swift', fields: { reasoning_effort: 'medium' }, effort: 'medium' },
  { description: 'the field in capitals', model: 'swift', fields: { reasoning_effort: 'HIGH' }, effort: 'high' },
  { description: 'the other dialect', model: 'swift', fields: { reasoning: { effort: 'low' } }, effort: 'low' },
  {
    description: 'both dialects that agree',
    model: 'swift',
    fields: { reasoning_effort: 'low', reasoning: { effort: 'Low' } },
    effort: 'low',
  },
  { description: 'the suffix alone', model: 'swift-high', fields: {}, effort: 'high' },
  { description: 'the suffix, the field null', model: 'swift-low', fields: { reasoning_effort: null }, effort: 'low' },
  { description: 'both that agree', model: 'swift-high', fields: { reasoning_effort: 'high' }, effort: 'high' },
  {
    description: 'both that agree but for case',
    model: 'swift-high',
    fields: { reasoning_effort: 'High' },
    effort: 'high',
  },
  {
    description: 'suffix and the other dialect',
    model: 'swift-low',
    fields: { reasoning: { effort: 'low' } },
    effort: 'low',
  },
  { description: 'an id that merely ends in -high', model: 'trap-high', fields: {}, effort: 'none' },
  {
    description: 'that id with another effort',
    model: 'trap-high',
    fields: { reasoning_effort: 'low' },
    effort: 'low',
  },
]

describe('effort by suffix and by field (decision table)', () => {
  const server = useServer()

  it.each(SERVED)('$description → $effort', async ({ model, fields, effort }) => {
    const account = await openAccount(server())
    const { status, json } = await chat(server(), account, { model, ...fields })
    expect(status).toBe(200)
    expect(json.model).toBe(model)
    expect(json.usage.completion_tokens_details.reasoning_tokens).toBe(THOUGHTS[effort])
  })

  it.each([
    { model: 'swift-high', fields: { reasoning_effort: 'low' }, param: 'reasoning_effort', words: ['high', 'low'] },
    {
      model: 'swift-low',
      fields: { reasoning: { effort: 'high' } },
      param: 'reasoning.effort',
      words: ['high', 'low'],
    },
    // `none` is a value, not absence.
    { model: 'swift-low', fields: { reasoning_effort: 'none' }, param: 'reasoning_effort', words: ['low', 'none'] },
    // Neighbouring words are not the same word.
    { model: 'swift-low', fields: { reasoning_effort: 'minimal' }, param: 'reasoning_effort', words: ['minimal'] },
    {
      model: 'swift',
      fields: { reasoning_effort: 'low', reasoning: { effort: 'high' } },
      param: 'reasoning.effort',
      words: ['low', 'high'],
    },
  ])('$model with $fields is a conflict; the error names both and the fix', async ({ model, fields, param, words }) => {
    const account = await openAccount(server())
    const answer = await chat(server(), account, { model, ...fields })
    expectProblem(answer, 'reasoning_effort_conflict', { param })
    for (const word of words) expect(answer.json.error.message).toContain(word)
    expect(await account.receipts()).toEqual([])
  })

  it.each([
    { model: 'swift', effort: 'xhigh', lists: /low, medium, high/ },
    { model: 'swift', effort: 'none', lists: /low, medium, high/ },
    { model: 'swift', effort: '', lists: /low, medium, high/ },
    { model: 'vendor/slashed', effort: 'low', lists: /no effort/ },
  ])('$model has no "$effort"; the error lists what it has', async ({ model, effort, lists }) => {
    const account = await openAccount(server())
    const answer = await chat(server(), account, { model, reasoning_effort: effort })
    expectProblem(answer, 'unsupported_value', { param: 'reasoning_effort', message: lists })
  })

  it('does not guess an unregistered suffix', async () => {
    const account = await openAccount(server())
    for (const model of ['swift-xhigh', 'trap-high-low', 'vendor/slashed-low', 'swift-high-high', 'SWIFT']) {
      expectProblem(await chat(server(), account, { model }), 'model_not_found', { param: 'model' })
    }
  })

  it('keeps reasoning within the output cap', async () => {
    const account = await openAccount(server())
    const { json } = await chat(server(), account, { model: 'swift-high', max_tokens: 10, messages: hello() })
    expect(json.choices[0].finish_reason).toBe('length')
    expect(json.usage).toMatchObject({ completion_tokens: 10, completion_tokens_details: { reasoning_tokens: 10 } })
  })
})
