import { describe, expect, it } from 'vitest'
import type { ProblemCode } from '../../src/model/problem.ts'
import { CHAT_FIELDS } from '../../src/protocols/chat/parse-request.ts'
import type { FieldPolicy } from '../../src/protocols/fields/read-fields.ts'
import { expectProblem } from '../support/expect-problem.ts'
import { answerOf, chat, hello, send } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

type Refused = readonly [value: unknown, code: ProblemCode, param?: string]

/** For each field: values that are served, and values that are refused with the code they get. */
interface Samples {
  readonly served: readonly unknown[]
  readonly refused: readonly Refused[]
}

const FUNCTION = { type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }

const numberBetween = (min: number, max: number): Samples => ({
  served: [min, max, (min + max) / 2],
  refused: [
    [min - 0.1, 'invalid_value'],
    [max + 0.1, 'invalid_value'],
    ['1', 'invalid_type'],
    [true, 'invalid_type'],
  ],
})

const ofType = (served: readonly unknown[], ...wrong: readonly unknown[]): Samples => ({
  served,
  refused: wrong.map((value): Refused => [value, 'invalid_type']),
})

const CAP: Samples = {
  served: [1, 50, 1_000_000],
  refused: [
    [0, 'invalid_value'],
    [-1, 'invalid_value'],
    [1.5, 'invalid_type'],
    ['5', 'invalid_type'],
  ],
}
const STANDARD: Samples = {
  served: ['auto', 'default', 'standard', false],
  refused: [
    ['priority', 'unsupported_value'],
    ['flex', 'unsupported_value'],
    [true, 'unsupported_value'],
    [1, 'unsupported_value'],
  ],
}
const ANYTHING: Samples = { served: [true, 'words', { a: 1 }, [1]], refused: [] }
const notProvided = (...values: readonly unknown[]): Samples => ({
  served: [],
  refused: values.map((value): Refused => [value, 'unsupported_parameter']),
})

const SAMPLES: Readonly<Record<string, Samples>> = {
  model: { ...ofType(['swift'], 5, {}, ['swift']) },
  messages: { served: [hello()], refused: [...ofType([], 'Hello', {}).refused, [[], 'invalid_value']] },
  stream: ofType([false], 'true', 1),
  stream_options: ofType([{ include_usage: true }, {}], true, 'usage'),
  max_tokens: CAP,
  max_completion_tokens: CAP,
  reasoning_effort: { ...ofType(['low', 'HIGH'], 3, {}) },
  reasoning: {
    served: [{ effort: 'low' }, {}, { effort: null }],
    refused: [...ofType([], 'low', 3).refused, [{ effort: 3 }, 'invalid_type', 'reasoning.effort']],
  },
  n: {
    served: [1],
    refused: [
      [0, 'invalid_value'],
      [129, 'invalid_value'],
      [2, 'unsupported_value'],
      ['1', 'invalid_type'],
    ],
  },
  cache_salt: ANYTHING,
  prompt_cache_isolation_key: ANYTHING,
  temperature: numberBetween(0, 2),
  top_p: numberBetween(0, 1),
  presence_penalty: numberBetween(-2, 2),
  frequency_penalty: numberBetween(-2, 2),
  stop: {
    served: ['x', ['x', 'y', 'z', 'w'], []],
    refused: [
      [['a', 'b', 'c', 'd', 'e'], 'invalid_value'],
      [5, 'invalid_type'],
      [[5], 'invalid_type'],
    ],
  },
  seed: ofType([0, -7, 2 ** 40], 1.5, '7'),
  logprobs: ofType([true, false], 'yes'),
  top_logprobs: {
    served: [0, 20],
    refused: [
      [21, 'invalid_value'],
      [1.5, 'invalid_type'],
    ],
  },
  logit_bias: ofType([{}, { 50256: -100 }], [], 'x'),
  tools: {
    served: [[], [FUNCTION], [{ type: 'custom', custom: { name: 'free_form' } }]],
    refused: [
      ['look_up', 'invalid_type'],
      [['look_up'], 'invalid_type', 'tools[0]'],
      [[FUNCTION, { type: 'function' }], 'invalid_type', 'tools[1].function'],
      [[{ type: 'function', function: {} }], 'invalid_type', 'tools[0].function.name'],
    ],
  },
  tool_choice: ofType(['auto', 'none', 'required', { type: 'function', function: { name: 'look_up' } }], 5, []),
  parallel_tool_calls: ofType([true, false], 'yes'),
  functions: ofType([[], [{ name: 'old' }]], {}, 'old'),
  function_call: ofType(['auto', { name: 'old' }], 5),
  response_format: ofType([{ type: 'json_object' }], 'json', []),
  verbosity: ofType(['low'], 5),
  user: ofType(['me', ''], 5),
  safety_identifier: ofType(['hash'], {}),
  prompt_cache_key: ofType(['cache'], 5),
  modalities: {
    served: [['text']],
    refused: [
      [['text', 'audio'], 'unsupported_value'],
      ['text', 'invalid_type'],
    ],
  },
  store: ANYTHING,
  metadata: ANYTHING,
  prediction: ANYTHING,
  moderation: ANYTHING,
  prompt_cache_retention: ANYTHING,
  prompt_cache_options: ANYTHING,
  service_tier: STANDARD,
  speed: STANDARD,
  inference_geo: STANDARD,
  priority: STANDARD,
  models: notProvided(['a', 'b'], 'a'),
  plugins: notProvided([{ id: 'web' }]),
  search_parameters: notProvided({ mode: 'on' }),
  enable_search: notProvided(true),
  web_search_options: notProvided({}),
  audio: notProvided({ encoder: 'alloy' }),
}

const PARAM_OF_NULL: Readonly<Record<string, ProblemCode>> = {
  model: 'missing_required_parameter',
  messages: 'missing_required_parameter',
}

const fieldsOf = (policy: FieldPolicy): string[] =>
  Object.entries(CHAT_FIELDS).flatMap(([name, rule]) => (rule.policy === policy ? [name] : []))

describe('every field of the field table', () => {
  const server = useServer()

  it('every field has samples here', () => {
    expect(Object.keys(SAMPLES).sort()).toEqual(Object.keys(CHAT_FIELDS).sort())
  })

  it.each(Object.keys(SAMPLES))('%s: valid values are served, and named when dropped', async (name) => {
    const account = await openAccount(server())
    for (const value of SAMPLES[name]!.served) {
      const answer = await chat(server(), account, { max_tokens: 3, [name]: value })
      expect(answer.json, JSON.stringify(value)).toMatchObject({ object: 'chat.completion', model: 'swift' })
      const left = answer.headers.get('x-millrace-ignored-fields')
      expect(left, JSON.stringify(value)).toBe(CHAT_FIELDS[name]?.policy === 'ignored' ? name : null)
    }
  })

  it.each(Object.keys(SAMPLES))('%s: invalid values are refused by name and cost nothing', async (name) => {
    const account = await openAccount(server())
    for (const [value, code, param = name] of SAMPLES[name]!.refused) {
      const answer = await chat(server(), account, { max_tokens: 3, [name]: value })
      expectProblem(answer, code, { param })
      expect(answer.json.error.message, JSON.stringify(value)).toContain(param)
    }
    expect(await account.receipts()).toEqual([])
  })

  it.each(Object.keys(SAMPLES))('%s: null counts as absent', async (name) => {
    const account = await openAccount(server())
    const answer = await chat(server(), account, { [name]: null })
    const missing = PARAM_OF_NULL[name]
    if (missing) expectProblem(answer, missing, { param: name })
    else expect([answer.status, answer.headers.get('x-millrace-ignored-fields')]).toEqual([200, null])
  })

  it.each(Object.keys(SAMPLES))('%s: duplicates are refused', async (name) => {
    const account = await openAccount(server())
    const one = `${JSON.stringify(name)}:null`
    const rest = ['model', 'messages'].includes(name) ? one : `${one},"model":"swift"`
    const answer = await answerOf(await send(server(), account, `{${one},${rest}}`))
    expectProblem(answer, 'duplicate_field', { param: name })
  })

  it.each(fieldsOf('control'))('%s: other casings and escapes are refused', async (name) => {
    const account = await openAccount(server())
    const capital = `${name[0]?.toUpperCase()}${name.slice(1)}`
    const escaped = `\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}`
    for (const spelling of [capital, name.toUpperCase(), escaped]) {
      const body = `{"model":"swift","messages":[{"role":"user","content":"Hi"}],"${spelling}":null}`
      const answer = await answerOf(await send(server(), account, body))
      expectProblem(answer, 'unsupported_parameter')
      expect(answer.json.error.message).toContain(name)
    }
  })

  it('drops unknown fields and names them in a header', async () => {
    const account = await openAccount(server())
    const answer = await chat(server(), account, { top_k: 5, 'x\r\ny: z': 1, store: true, größe: 1 })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-millrace-ignored-fields')).toBe('top_k, x??y??z, store, gr??e')
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`field_${index}`, index]))
    const { status, headers } = await chat(server(), account, many)
    expect(status).toBe(200)
    expect(headers.get('x-millrace-ignored-fields')?.length).toBeLessThan(2500)
  })

  it('treats prototype names as unknown fields', async () => {
    const account = await openAccount(server())
    const body =
      '{"model":"swift","messages":[{"role":"user","content":"Hi"}],"__proto__":{"n":9},"constructor":1,"toString":2}'
    const answer = await answerOf(await send(server(), account, body))
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-millrace-ignored-fields')).toBe('__proto__, constructor, toString')
  })
})
