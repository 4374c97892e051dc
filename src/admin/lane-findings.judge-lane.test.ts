import { describe, expect, it } from 'vitest'
import { upstreamAt } from '../../test/fixtures/providers/provider.ts'
import { Secret } from '../lib/secret.ts'
import { classifyRefusal, readProviderError } from '../protocols/refusals/provider-error.ts'
import type { UpstreamFailed } from '../providers/upstream-answer.ts'
import { type Finding, judgeLane } from './lane-findings.ts'

const WITH_KEY = upstreamAt('https://api.example.com/v1', { apiKey: new Secret('a-key-of-the-operator') })
const lane = { upstream: WITH_KEY, model: 'far-model' }

const failed = (over: Partial<UpstreamFailed>) => ({
  kind: 'failed' as const,
  failure: { kind: 'failed' as const, reason: 'not-sent' as const, message: 'It failed.', ...over },
})

const refused = (status: number | undefined, body: unknown) => {
  const error = readProviderError(status, Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
  return { kind: 'refused' as const, error, means: classifyRefusal(error), retryAfterMs: undefined }
}

describe('a call that failed', () => {
  it.each<[string, Finding]>([
    ['ADDRESS_REFUSED', 'address-refused'],
    ['ENOTFOUND', 'name-unknown'],
    ['EAI_AGAIN', 'name-unanswered'],
    ['ECONNREFUSED', 'nobody-listens'],
    ['EHOSTUNREACH', 'unreachable'],
    ['ENETUNREACH', 'unreachable'],
    ['ETIMEDOUT', 'unreachable'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'tls-untrusted'],
    ['SELF_SIGNED_CERT_IN_CHAIN', 'tls-untrusted'],
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'tls-untrusted'],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'tls-untrusted'],
    ['CERT_HAS_EXPIRED', 'tls-expired'],
    ['CERT_NOT_YET_VALID', 'tls-too-early'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'tls-other-name'],
    ['CERT_REVOKED', 'tls-failed'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'tls-failed'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'tls-not-spoken'],
    ['ERR_SSL_PACKET_LENGTH_TOO_LONG', 'tls-not-spoken'],
    ['EPROTO', 'tls-not-spoken'],
    ['ECONNRESET', 'hung-up'],
    ['no code', 'hung-up'],
  ])('before anything was sent, %s: %s', (code, finding) => {
    expect(judgeLane(lane, failed({ code }))).toBe(finding)
  })

  it.each<[Partial<UpstreamFailed>, Finding]>([
    [{ reason: 'broken-off', code: 'ECONNRESET' }, 'broken-off'],
    [{ reason: 'broken-off', code: 'HTTP_PARSER' }, 'not-http'],
    [{ reason: 'broken-off', code: 'ANSWER_COMPRESSED' }, 'compressed'],
    [{ reason: 'broken-off' }, 'broken-off'],
    [{ reason: 'redirected' }, 'redirected'],
    [{ reason: 'timeout', expired: 'connect' }, 'no-connection'],
    [{ reason: 'timeout', expired: 'first-byte' }, 'too-slow'],
  ])('%j: %s', (failure, finding) => {
    expect(judgeLane(lane, failed(failure))).toBe(finding)
  })
})

describe('a refusal', () => {
  it.each<[number | undefined, unknown, Finding]>([
    [401, '', 'key-refused'],
    [401, { type: 'error', error: { type: 'authentication_error', message: 'invalid x-api-key' } }, 'key-refused'],
    [403, { error: { message: 'Forbidden' } }, 'not-allowed'],
    [403, '<html>Cloudflare</html>', 'not-allowed'],
    [
      403,
      { error: { status: 'PERMISSION_DENIED', message: 'Generative Language API has not been used' } },
      'not-allowed',
    ],
    [403, { error: { message: 'Your team has no credits left' } }, 'out-of-credit'],
    [402, { error: { message: 'Insufficient Balance' } }, 'out-of-credit'],
    [
      400,
      { error: { type: 'invalid_request_error', message: 'You have reached your specified API usage limits.' } },
      'out-of-credit',
    ],
    [429, { error: { code: 'insufficient_quota', message: 'No.' } }, 'out-of-credit'],
    [429, { error: { status: 'RESOURCE_EXHAUSTED', message: 'You exceeded your current quota' } }, 'throttled'],
    [404, '404 page not found', 'address-wrong'],
    [404, { error: { message: 'Invalid URL (POST /v1/v1/chat/completions)' } }, 'address-wrong'],
    [404, '', 'address-wrong'],
    [405, { detail: 'Method Not Allowed' }, 'address-wrong'],
    [404, { error: 'far-model not found, try pulling it first' }, 'model-unknown'],
    [404, { error: { code: 'DeploymentNotFound', message: 'Does not exist.' } }, 'model-unknown'],
    [404, { type: 'error', error: { type: 'not_found_error', message: 'model: x' } }, 'model-unknown'],
    [400, { error: { message: 'Model Not Exist' } }, 'model-unknown'],
    [422, { error: { message: 'Invalid model: x' } }, 'model-unknown'],
    [400, { error: { message: 'messages: at least one message is required' } }, 'rejected'],
    [400, { error: { message: 'Unknown parameter: stream' } }, 'rejected'],
    [400, { error: { message: "Unsupported parameter: 'stream'" } }, 'field-refused'],
    [403, { error: { code: 'content_filter', message: 'Filtered.' } }, 'filtered'],
    [503, '', 'overloaded'],
    [529, '', 'overloaded'],
    [500, '', 'provider-failed'],
    [undefined, { error: { type: 'overloaded_error', message: 'Overloaded' } }, 'overloaded'],
    [undefined, { error: { code: 502, message: 'Provider returned error' } }, 'provider-failed'],
  ])('%s %j: %s', (status, body, finding) => {
    expect(judgeLane(lane, refused(status, body))).toBe(finding)
  })

  it('is a missing key only without a key and headers', () => {
    const without = { ...lane, upstream: upstreamAt('https://api.example.com/v1') }
    const withHeader = {
      ...lane,
      upstream: upstreamAt('https://a.example/v1', { headers: new Map([['x', new Secret('y')]]) }),
    }
    expect(judgeLane(without, refused(401, ''))).toBe('key-missing')
    expect(judgeLane(withHeader, refused(401, ''))).toBe('key-refused')
  })
})
