import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { parseRequest as readChat } from '../protocols/chat/parse-request.ts'
import { scanJson } from '../protocols/json/scan-json.ts'
import { parseRequest as readResponses } from '../protocols/responses/parse-request.ts'
import { inputProblem } from './plan-turn.ts'

const CONTEXT = 8192
const model = catalogOf(modelDefinition('small', { contextTokens: CONTEXT })).entries.get('small')!.model

function parsed(body: object) {
  const bytes = Buffer.from(JSON.stringify(body))
  const scanned = scanJson(bytes, { depthMax: 64, valuesMax: 1_000_000 })
  if (scanned.kind !== 'scanned') throw new Error(scanned.kind)
  return { bytes, members: scanned.members, value: body as never }
}

function problemOf(outcome: ReturnType<typeof readChat> | ReturnType<typeof readResponses>) {
  if (outcome.kind === 'refused') throw new Error(outcome.problem.message)
  return inputProblem(model, outcome.request)
}

const plain = {
  sealed: new Map(),
  boundTo: undefined,
  isCompacted: false,
  previousResponseId: undefined,
  previousItems: 0,
  compacts: undefined,
  storable: undefined,
}
const chat = (...messages: object[]) => problemOf(readChat(parsed({ model: 'small', messages })))
const responses = (input: unknown, more: object = {}) =>
  problemOf(readResponses(parsed({ model: 'small', input, ...more }), plain))

const user = (content: unknown) => ({ role: 'user', content })
const words = (count: number) => 'hello '.repeat(count)

describe('input that surely exceeds the context', () => {
  it('is refused in both protocols, and both numbers are named', () => {
    const refusal = { code: 'context_length_exceeded', param: 'messages' }
    expect(chat(user(words(80_000)))).toMatchObject(refusal)
    expect(chat(user(words(80_000)))?.message).toMatch(
      /exceeds the context window of 'small': .*at least 16384 tokens.*maximum context length is 8192 tokens/,
    )
    expect(chat(...Array.from({ length: 800 }, () => user(words(100))))).toMatchObject(refusal)
    expect(chat(user([{ type: 'text', text: words(80_000) }]))).toMatchObject(refusal)
    for (const input of [
      words(80_000),
      [user(words(80_000))],
      [user([{ type: 'input_text', text: words(80_000) }])],
      [
        { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'call_1', output: words(80_000) },
      ],
    ])
      expect(responses(input)).toMatchObject({ code: 'context_length_exceeded', param: 'input' })
  })

  it('is refused where it has no words, once no tokenizer could make so few tokens of its bytes', () => {
    expect(chat(user('x'.repeat(CONTEXT * 256)))).toBeUndefined()
    expect(chat(user('x'.repeat((CONTEXT + 1) * 256)))).toMatchObject({ code: 'context_length_exceeded' })
  })
})

describe('input that may fit', () => {
  // 8,192 tokens of the longest kind there is, and then some.
  it.each([
    ['spaces', ' '.repeat(CONTEXT * 128)],
    ['escaped spaces', '\n'.repeat(CONTEXT * 128)],
    ['a repeated letter', 'a'.repeat(CONTEXT * 64)],
    ['dashes', '-'.repeat(CONTEXT * 128)],
    ['base64', Buffer.alloc(CONTEXT * 30, 'millrace').toString('base64')],
    ['a script without spaces', '\u6f22'.repeat(CONTEXT * 10)],
    ['as many words as tokens', words(CONTEXT - 100)],
    ['twice as many words as tokens', words(2 * CONTEXT)],
  ])('is left to the provider: %s', (_, text) => {
    expect(chat(user(text))).toBeUndefined()
    expect(responses(text)).toBeUndefined()
    expect(responses([user(text)])).toBeUndefined()
  })

  it('is left to the provider where only what the model may never read is long', () => {
    const reasoning = { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: words(80_000) }] }
    expect(responses([reasoning, user('Hello')])).toBeUndefined()
    expect(chat({ role: 'assistant', content: 'Hi', reasoning_content: words(80_000) }, user('Hello'))).toBeUndefined()
    const tools = [{ type: 'function', function: { name: 'f', description: words(80_000) } }]
    expect(problemOf(readChat(parsed({ model: 'small', messages: [user('Hello')], tools })))).toBeUndefined()
  })

  it('is left to a provider that may drop the middle of it', () => {
    expect(responses(words(80_000), { truncation: 'auto' })).toBeUndefined()
    expect(responses(words(80_000), { truncation: 'disabled' })).toMatchObject({ code: 'context_length_exceeded' })
  })
})
