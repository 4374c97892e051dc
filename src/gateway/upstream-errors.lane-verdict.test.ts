import { describe, expect, it } from 'vitest'
import { readProviderError } from '../protocols/refusals/provider-error.ts'
import type { LaneVerdict } from '../routing/circuit-breaker.ts'
import { refusedByProvider } from './upstream-errors.ts'

const refusal = (status: number | undefined, body: unknown, retryAfterMs?: number) =>
  refusedByProvider(
    readProviderError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))),
    { inputField: 'messages', outputCapParam: 'max_tokens', effortParam: 'reasoning_effort' },
    retryAfterMs,
  )

const verdictOf = (...answer: Parameters<typeof refusal>) => refusal(...answer).verdict

const emitted = (message: string, code?: string, type?: string) => ({ error: { message, code, type } })

const FAILED: LaneVerdict = { kind: 'failed' }
const OF_LANE: LaneVerdict = { kind: 'locked-out', of: 'lane' }
const OF_CREDENTIAL: LaneVerdict = { kind: 'locked-out', of: 'credential' }

describe('a refusal says of its lane', () => {
  it.each<[status: number | undefined, body: unknown, verdict: LaneVerdict]>([
    [401, '', OF_CREDENTIAL],
    [402, emitted('Pay.'), OF_CREDENTIAL],
    [403, emitted('No.', undefined, 'permission_error'), OF_LANE],
    [403, emitted('No.', 'PERMISSION_DENIED'), OF_LANE],
    [429, emitted('No.', 'insufficient_quota'), OF_CREDENTIAL],
    [429, emitted('Slow.'), { kind: 'busy' }],
    [undefined, emitted('Slow.', 'rate_limit_exceeded'), { kind: 'busy' }],
    [404, emitted('No such model.'), OF_LANE],
    [404, emitted('The model `x` does not exist or you do not have access to it.'), OF_LANE],
    [404, emitted('The API deployment for this resource does not exist.', 'DeploymentNotFound'), OF_LANE],
    [404, emitted('model: claude-nothing', undefined, 'not_found_error'), OF_LANE],
    [404, emitted('models/gemini-0.5 is not found for API version v1beta', 'NOT_FOUND'), OF_LANE],
    [404, emitted('No endpoints found for maker/model.'), OF_LANE],
    [404, emitted('Invalid URL (POST /v1/completion)'), OF_LANE],
    [404, '404 page not found', OF_LANE],
    [405, '', OF_LANE],
    [410, '', OF_LANE],
    [undefined, emitted('No such model.', 'model_not_found'), OF_LANE],
    [500, '', FAILED],
  ])('what its status or code says: %s %j', (status, body, verdict) => {
    expect(verdictOf(status, body)).toEqual(verdict)
  })

  it('for how long it wants to be left alone, ten minutes at most', () => {
    expect(verdictOf(429, '', 7_000)).toEqual({ kind: 'busy', forMs: 7_000 })
    expect(verdictOf(429, '', 10 ** 15)).toEqual({ kind: 'busy', forMs: 600_000 })
  })

  it('that it failed, and for how long it wants to be left alone, where it is overloaded and says so', () => {
    for (const status of [503, 529]) expect(verdictOf(status, '', 7_000)).toEqual({ kind: 'failed', forMs: 7_000 })
    expect(verdictOf(500, '', 7_000)).toEqual(FAILED)
  })

  it('no more than that it failed where less could be paid for', () => {
    const message =
      'This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 900.'
    expect(verdictOf(402, { error: { message, code: 402 } })).toEqual(FAILED)
  })

  it('no more than that it failed where only a sentence says so, which may quote the client', () => {
    expect(verdictOf(400, emitted('Your credit balance is too low.'))).toEqual(FAILED)
    expect(verdictOf(undefined, emitted('rate limit'))).toEqual(FAILED)
  })

  it('no more than that it failed where it forbids one text: a firewall, or a filter without a word for it', () => {
    expect(verdictOf(403, '<html>Blocked</html>')).toEqual(FAILED)
    expect(verdictOf(403, { error: { code: 403, message: 'Flagged', metadata: { reasons: ['violence'] } } })).toEqual(
      FAILED,
    )
  })

  it.each<[status: number | undefined, body: unknown]>([
    [404, ''],
    [404, { detail: 'Not Found' }],
    [404, emitted("Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.")],
    [404, emitted('File files/abc "of a model" does not exist.', 'NOT_FOUND')],
    [404, emitted('No endpoints found matching your data policy.')],
    [undefined, emitted('No such file.', 'not_found_error')],
  ])('no more than that it failed where not a model but something else is missing: %s %j', (status, body) => {
    const { problem, verdict } = refusal(status, body)
    expect([verdict, problem.code]).toEqual([FAILED, 'provider_misconfigured'])
  })

  it.each([
    'No endpoints found that support tool use. To learn more about provider routing, visit: https://router.example',
    'No endpoints found that support image input',
    "No endpoints found that support the provided 'tool_choice' value.",
    'No endpoints found that can handle the requested parameters.',
  ])('nothing where a router has the model, but not for this request, and the client is told so: %s', (message) => {
    const { problem, failsOnEveryLane, verdict } = refusal(404, { error: { message, code: 404 } })
    expect(verdict).toBeUndefined()
    expect([problem.code, failsOnEveryLane]).toEqual(['upstream_rejected', false])
    expect(problem.message).toContain(message)
  })

  it('nothing where this one request is wrong, or more than its limit of a minute', () => {
    expect(verdictOf(400, emitted('Wrong.'))).toBeUndefined()
    expect(verdictOf(413, emitted('Request too large on tokens per minute.', 'rate_limit_exceeded'))).toBeUndefined()
    const tooMuch = 'Request too large for m on tokens per min (TPM): Limit 30000, Requested 50000.'
    expect(verdictOf(429, emitted(tooMuch, 'rate_limit_exceeded', 'tokens'))).toBeUndefined()
  })
})
