import { describe, expect, it } from 'vitest'
import { fractionsFrom } from '../../test/fixtures/lib/seeded-random.ts'
import { hideFromNowOn } from '../lib/secret.ts'
import type { Problem } from '../model/problem.ts'
import { readError, readProviderError } from '../protocols/refusals/provider-error.ts'
import {
  faultInAnswer,
  faultOfFailure,
  problemInStream,
  refusedByProvider,
  refusedInAnswer,
} from './upstream-errors.ts'

const OUR_KEY = 'a-credential-of-no-known-shape-42'
hideFromNowOn(OUR_KEY)

const ASKED = { inputField: 'input', outputCapParam: 'max_output_tokens', effortParam: 'reasoning.effort' } as const

const delivered = (status: number, body: unknown) =>
  refusedByProvider(
    readProviderError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))),
    ASKED,
  )

const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } })
const google = (code: number, status: string, details: object[] = []) => ({
  error: { code, message: `Words of Google about ${OUR_KEY}.`, status, details },
})

type Row = readonly [status: number, body: unknown, code: Problem['code'], otherLane: boolean]

/** What is ours to mend is never shown as a fault of the client, nor in the provider's words. */
const OURS: readonly Row[] = [
  [400, anthropic('invalid_request_error', 'Your credit balance is too low.'), 'provider_misconfigured', true],
  [401, anthropic('authentication_error', `invalid x-api-key ${OUR_KEY}`), 'provider_misconfigured', true],
  [402, anthropic('billing_error', 'Pay.'), 'provider_misconfigured', true],
  [403, anthropic('permission_error', 'No.'), 'provider_misconfigured', true],
  [404, anthropic('not_found_error', 'model: x'), 'provider_misconfigured', true],
  [409, anthropic('conflict_error', 'Twice.'), 'server_is_overloaded', true],
  [429, anthropic('rate_limit_error', 'Slow.'), 'upstream_busy', true],
  [500, anthropic('api_error', 'Oh.'), 'server_is_overloaded', true],
  [504, anthropic('timeout_error', 'Oh.'), 'server_is_overloaded', true],
  [529, anthropic('overloaded_error', 'Oh.'), 'server_is_overloaded', true],
  [400, google(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }]), 'provider_misconfigured', true],
  [403, google(403, 'PERMISSION_DENIED'), 'provider_misconfigured', true],
  [429, google(429, 'RESOURCE_EXHAUSTED'), 'upstream_busy', true],
  [503, google(503, 'UNAVAILABLE'), 'server_is_overloaded', true],
  [404, `<html><title>${OUR_KEY}</title></html>`, 'provider_misconfigured', true],
]

describe('a client is told', () => {
  it.each(OURS)('nothing of what is between us and the provider: %s %j', (status, body, code, otherLane) => {
    const { problem, failsOnEveryLane, mayBeBilled } = delivered(status, body)
    expect([problem.code, problem.source, !failsOnEveryLane, mayBeBilled]).toEqual([code, 'upstream', otherLane, false])
    expect(problem.message).not.toMatch(/credit|x-api-key|Google|html|model:|Slow|Pay|of-no-known-shape/i)
  })

  it.each<Row>([
    [
      400,
      anthropic('invalid_request_error', 'prompt is too long: 9 tokens > 8 maximum'),
      'context_length_exceeded',
      false,
    ],
    [400, anthropic('invalid_request_error', `messages: none, ${OUR_KEY}`), 'upstream_rejected', false],
    [413, anthropic('request_too_large', 'Too large.'), 'request_too_large', false],
    [400, google(400, 'INVALID_ARGUMENT'), 'upstream_rejected', false],
    [422, { detail: [{ loc: ['body', 'messages', 0], msg: 'Wrong.', type: 'x' }] }, 'upstream_rejected', false],
  ])('what it can mend, without the key in it: %s %j', (status, body, code, otherLane) => {
    const { problem, failsOnEveryLane } = delivered(status, body)
    expect([problem.code, !failsOnEveryLane]).toEqual([code, otherLane])
    expect(problem.message).not.toContain(OUR_KEY)
  })

  it('no page of a provider, whatever its status', () => {
    for (const status of [400, 413, 422]) expect(delivered(status, '<html>x</html>').problem.message).not.toContain('<')
  })

  it('when to come back: by the header, else by the body, and never in hours', () => {
    const delayed = (retryDelay: string) =>
      readProviderError(429, Buffer.from(JSON.stringify(google(429, 'RESOURCE_EXHAUSTED', [{ retryDelay }]))))
    expect(refusedByProvider(delayed('37s'), ASKED).problem.retryAfterSeconds).toBe(37)
    expect(refusedByProvider(delayed('37s'), ASKED, 2000).problem.retryAfterSeconds).toBe(2)
    expect(refusedByProvider(delayed('86400s'), ASKED).problem.retryAfterSeconds).toBe(600)
    expect(refusedByProvider(delayed('x'), ASKED).problem.retryAfterSeconds).toBe(1)
  })

  it('when to come back in its words too, and what it paid, before content as in a stream', () => {
    const emitted = readError({ message: 'Rate limit reached. Please try again in 2.5s.' })
    const what = 'The provider is limiting requests at the moment (rate limit).'
    expect(refusedInAnswer(emitted, ASKED).problem).toMatchObject({
      ...{ code: 'upstream_busy', retryAfterSeconds: 3 },
      message: `${what} Nothing was charged; try again in 3s.`,
    })
    expect(problemInStream(faultInAnswer(emitted, ASKED))).toMatchObject({
      ...{ code: 'rate_limit_exceeded', retryAfterSeconds: 3 },
      message: `${what} The input and the output so far are charged; try again in 3s.`,
    })
  })
})

/** Words by which agents find out whether to ask again: those of pi, which has the longest list, anywhere in a message. */
const RETRIED =
  /overloaded|high demand|rate.?limit|too many requests|429|50[0234]|52[04]|service.?unavailable|server.?error|internal.?error|provider.?returned.?error|network.?error|connection.?(?:error|refused|lost)|other side closed|fetch failed|getaddrinfo|enotfound|eai_again|upstream.?connect|reset before headers|socket hang up|socket connection was closed|timed? out|timeout|terminated|websocket.?(?:closed|error)|ended without|stream ended before|http2 request did not get a response|retry delay|retry your request|try your request again|resourceexhausted|retrying upstream/i

const SEED = 20261124

describe('agents read', () => {
  const inside = (code: string, message = 'Words.') => readError({ code, message })
  const FINAL: readonly (readonly [string, Problem['code']])[] = [
    ['invalid_prompt', 'invalid_prompt'],
    ['content_filter', 'content_filter'],
    ['content_policy_violation', 'content_filter'],
    ['bio_policy', 'bio_policy'],
    ['cyber_policy', 'cyber_policy'],
    ['context_length_exceeded', 'context_length_exceeded'],
    ['invalid_request_error', 'upstream_rejected'],
    ['model_not_found', 'provider_misconfigured'],
    ['invalid_api_key', 'provider_misconfigured'],
    ['insufficient_quota', 'insufficient_quota'],
  ]

  it.each(FINAL)('that a refusal is final, by its code and its words: %s', (code, expected) => {
    const streamed = problemInStream(faultInAnswer(inside(code), ASKED))
    const before = refusedInAnswer(inside(code), ASKED).problem
    expect(streamed.code).toBe(expected)
    expect(before.code).toBe(expected === 'insufficient_quota' ? 'provider_misconfigured' : expected)
    for (const { message, retryAfterSeconds } of [streamed, before]) {
      expect(message).not.toMatch(RETRIED)
      expect(message).not.toMatch(/again/i)
      expect(retryAfterSeconds).toBeUndefined()
    }
  })

  it('that an input is too long, so that they make it shorter by themselves', () => {
    const { message } = problemInStream(faultInAnswer(inside('context_length_exceeded', ''), ASKED))
    expect(message).toMatch(/exceeds the context window/)
    expect(message).toMatch(/maximum context length/)
  })

  it.each([
    ['temperature must be at most 1', 'temperature must be at most 1'],
    [
      "Invalid schema for function 'bash': In context=('properties', 'timeout'), 'required' is missing.",
      "Invalid schema for function 'bash': In context=('properties', 't-imeout'), 'required' is missing.",
    ],
    ['Unterminated string in JSON', 'Unt-erminated string in JSON'],
    ['Server error: no such field.', 'S-erver error: no such field.'],
    ['Please try again with less.', 'Please t-ry again with less.'],
    ['timed\nout, rate_limit, RateLimit?', 't-imed out, r-ate_limit, R-ateLimit?'],
    ['max_tokens: 150000 > 50429, at most 500', 'max_tokens: 15_0000 > 5_04_29, at most 5_00'],
    ['of timeout and timeout', 'of t-imeout and t-imeout'],
  ])('no reason to ask again in a refusal that is final, and people all of its words: %s', (words, shown) => {
    const streamed = problemInStream(faultInAnswer(inside('invalid_request_error', words), ASKED))
    for (const { message } of [streamed, delivered(400, anthropic('invalid_request_error', words)).problem]) {
      expect(message).toContain(`The provider says: ${shown}`)
      expect(message).not.toMatch(RETRIED)
    }
  })

  it('no reason to ask again in any final refusal, whatever of these words it has side by side', () => {
    const WORDS = [
      'timed out',
      'rate',
      'limit',
      ' ',
      '-',
      'time',
      'out',
      'terminated',
      'server',
      'error',
      '4',
      '5',
      '0',
      '2',
      '9',
    ]
    const random = fractionsFrom(SEED)
    const seen = { clean: 0, broken: 0 }
    for (let round = 0; round < 2000; round++) {
      const words = Array.from({ length: 12 }, () => WORDS[Math.floor(random() * WORDS.length)]).join('')
      const { message } = problemInStream(faultInAnswer(inside('invalid_request_error', words), ASKED))
      seen[RETRIED.test(words) ? 'broken' : 'clean']++
      expect(message).not.toMatch(RETRIED)
    }
    console.log(`words of refusals: seed ${SEED}`, seen)
    expect(Math.min(seen.clean, seen.broken)).toBeGreaterThan(100)
  })

  it.each([
    ['server_error', 'upstream_error'],
    ['overloaded_error', 'upstream_error'],
    ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ])('that what passes may be asked again: %s', (code, expected) => {
    const { message, ...streamed } = problemInStream(faultInAnswer(inside(code), ASKED))
    expect(streamed.code).toBe(expected)
    expect(message).toMatch(RETRIED)
    expect(message).toMatch(/try again in \d+s\./)
  })

  it('of a failure what kind it was', () => {
    for (const [status, words] of [
      [500, 'server error'],
      [503, 'overloaded'],
      [529, 'overloaded'],
    ] as const)
      expect(delivered(status, '').problem.message).toContain(words)
    for (const failure of [
      { reason: 'timeout', expired: 'idle' },
      { reason: 'broken-off' },
      { reason: 'refused' },
    ] as const)
      expect(problemInStream(faultOfFailure(failure as never)).message).toMatch(RETRIED)
  })

  it.each([
    ['messages.3.content', 'input'],
    ['contents[0].parts', 'input'],
    ['input[2].content', 'input[2].content'],
    ['max_tokens', 'max_output_tokens'],
    ['generationConfig.maxOutputTokens', 'max_output_tokens'],
    ['reasoning_effort', 'reasoning.effort'],
    ['thinking.budget_tokens', 'reasoning.effort'],
    ['temperature', 'temperature'],
    ['a sentence, no name', null],
  ])('the name that the client has for a field: %s', (param, expected) => {
    const error = readError({ code: 'invalid_request_error', message: 'Wrong.', param })
    expect(refusedInAnswer(error, ASKED).problem.param).toBe(expected)
  })

  it('the same of an input that is too long', () => {
    expect(
      delivered(400, { error: { code: 'context_length_exceeded', message: 'x', param: 'messages' } }).problem.param,
    ).toBe('input')
  })
})
