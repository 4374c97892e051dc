import { describe, expect, it } from 'vitest'
import { hideFromNowOn } from '../../lib/secret.ts'
import type { Problem } from '../../model/problem.ts'
import { readError, readProviderError } from '../../wire/refusals/provider-error.ts'
import { faultInside, inStream, refused, refusedInside } from './provider-refusal.ts'

const OUR_KEY = 'a-credential-of-no-known-shape-42'
hideFromNowOn(OUR_KEY)

const told = (status: number, body: unknown) =>
  refused(readProviderError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))))

const anthropic = (type: string, message: string) => ({ type: 'error', error: { type, message } })
const google = (code: number, status: string, details: object[] = []) => ({
  error: { code, message: `Words of Google about ${OUR_KEY}.`, status, details },
})

type Row = readonly [status: number, body: unknown, code: Problem['code'], otherLane: boolean]

/** What is ours to mend is never shown as a fault of the client, nor in the provider's words. */
const OURS: readonly Row[] = [
  [400, anthropic('invalid_request_error', 'Your credit balance is too low.'), 'server_is_overloaded', true],
  [401, anthropic('authentication_error', `invalid x-api-key ${OUR_KEY}`), 'server_is_overloaded', true],
  [402, anthropic('billing_error', 'Pay.'), 'server_is_overloaded', true],
  [403, anthropic('permission_error', 'No.'), 'server_is_overloaded', true],
  [404, anthropic('not_found_error', 'model: x'), 'server_is_overloaded', true],
  [409, anthropic('conflict_error', 'Twice.'), 'server_is_overloaded', true],
  [429, anthropic('rate_limit_error', 'Slow.'), 'upstream_busy', true],
  [500, anthropic('api_error', 'Oh.'), 'server_is_overloaded', true],
  [504, anthropic('timeout_error', 'Oh.'), 'server_is_overloaded', true],
  [529, anthropic('overloaded_error', 'Oh.'), 'server_is_overloaded', true],
  [400, google(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }]), 'server_is_overloaded', true],
  [403, google(403, 'PERMISSION_DENIED'), 'server_is_overloaded', true],
  [429, google(429, 'RESOURCE_EXHAUSTED'), 'upstream_busy', true],
  [503, google(503, 'UNAVAILABLE'), 'server_is_overloaded', true],
  [404, `<html><title>${OUR_KEY}</title></html>`, 'server_is_overloaded', true],
]

describe('a client is told', () => {
  it.each(OURS)('nothing of what is between us and the provider: %s %j', (status, body, code, otherLane) => {
    const { problem, sameElsewhere, mayBeBilled } = told(status, body)
    expect([problem.code, problem.source, !sameElsewhere, mayBeBilled]).toEqual([code, 'upstream', otherLane, false])
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
    const { problem, sameElsewhere } = told(status, body)
    expect([problem.code, !sameElsewhere]).toEqual([code, otherLane])
    expect(problem.message).not.toContain(OUR_KEY)
  })

  it('no page of a provider, whatever its status', () => {
    for (const status of [400, 413, 422]) expect(told(status, '<html>x</html>').problem.message).not.toContain('<')
  })

  it('when to come back: by the header, else by the body, and never in hours', () => {
    const delayed = (retryDelay: string) =>
      readProviderError(429, Buffer.from(JSON.stringify(google(429, 'RESOURCE_EXHAUSTED', [{ retryDelay }]))))
    expect(refused(delayed('37s')).problem.retryAfterSeconds).toBe(37)
    expect(refused(delayed('37s'), 2000).problem.retryAfterSeconds).toBe(2)
    expect(refused(delayed('86400s')).problem.retryAfterSeconds).toBe(600)
    expect(refused(delayed('x')).problem.retryAfterSeconds).toBe(1)
  })

  it('when to come back in its words too, and what it paid, before content as in a stream', () => {
    const said = readError({ message: 'Rate limit reached. Please try again in 2.5s.' })
    const what = 'The provider limits requests at the moment.'
    expect(refusedInside(said).problem).toMatchObject({
      ...{ code: 'upstream_busy', retryAfterSeconds: 3 },
      message: `${what} Nothing was charged; try again in 3s.`,
    })
    expect(inStream(faultInside(said))).toMatchObject({
      ...{ code: 'upstream_error', retryAfterSeconds: 3 },
      message: `${what} What was received so far is charged; try again in 3s.`,
    })
  })
})
