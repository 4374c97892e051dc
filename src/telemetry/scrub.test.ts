import { describe, expect, it } from 'vitest'
import { scrub } from './scrub.ts'

describe('scrub', () => {
  it.each([
    ['Key mr_wallet_7Q2Fabcdefghijklmnopqrstuvwxyz is unknown', 'Key mr_wallet_[hidden] is unknown'],
    ['builder mr_builder_AbC123', 'builder mr_builder_[hidden]'],
    ['Incorrect API key provided: sk-proj-abcdEFGH1234_-xy.', 'Incorrect API key provided: sk-proj-[hidden].'],
    ['sk-ant-api03-AAAABBBBCCCC', 'sk-ant-[hidden]'],
    ['authorization: Bearer abc.def-ghi', 'authorization: Bearer [hidden]'],
    ['{"x-api-key":"a1b2c3","model":"m"}', '{"x-api-key":"[hidden]","model":"m"}'],
    ['GET /v1/models?key=AIzaSyD1234567890&alt=sse', 'GET /v1/models?key=[hidden]&alt=sse'],
    [
      'connect postgres://millrace:pa:s@s@db.internal:5432/x failed',
      'connect postgres://[hidden]@db.internal:5432/x failed',
    ],
    ['password=hunter2 user=me', 'password=[hidden] user=me'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'token [hidden]'],
    ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----', '[hidden]'],
  ])('hides what is secret in %j', (text, expected) => {
    expect(scrub(text)).toBe(expected)
  })

  it.each([
    'connect ECONNREFUSED 127.0.0.1:4600',
    'model gpt-x-high not found',
    'the key ring is not the one that sealed this database',
    'see https://example.com/docs#errors',
    'max_tokens: 500, input_tokens: 12',
    'task-list and risk-free',
  ])('leaves %j alone', (text) => {
    expect(scrub(text)).toBe(text)
  })

  it('cuts text that is too long before it looks at it', () => {
    const scrubbed = scrub(`sk-${'a'.repeat(5_000_000)}`)
    expect(scrubbed.length).toBeLessThan(100)
    expect(scrub('://'.repeat(100_000)).length).toBeLessThan(9_000)
  })
})
