import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scrub, scrubPath } from './scrub.ts'

describe('scrub', () => {
  it.each([
    ['Key mr_wallet_7Q2Fabcdefghijklmnopqrstuvwxyz is unknown', 'Key mr_wallet_[hidden] is unknown'],
    ['Key mra_7Q2Fabcdefghijklmnopqrstuvwxyz is unknown', 'Key mra_[hidden] is unknown'],
    ['GET /admin/v1/keys/mra%5F7Q2Fabcdefghijkl', 'GET /admin/v1/keys/mra%5F[hidden]'],
    ['builder mr_builder_AbC123', 'builder mr_builder_[hidden]'],
    ['cookie s=mr_session_AbC123', 'cookie s=mr_session_[hidden]'],
    ['Incorrect API key provided: sk-proj-abcdEFGH1234_-xy.', 'Incorrect API key provided: sk-proj-[hidden].'],
    ['sk-ant-api03-AAAABBBBCCCC', 'sk-ant-[hidden]'],
    ['authorization: Bearer abc.def-ghi', 'authorization: Bearer [hidden]'],
    ['GET /v1/Bearer%20abc.def-ghi', 'GET /v1/Bearer [hidden]'],
    ['github_pat_11ABCDEFG0123456789', 'github_pat_[hidden]'],
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

  it('hides a token to its last part, also behind what begins like a key', () => {
    expect(scrub('GET /v1/pk-eyJ0000070000.00000700000')).toBe('GET /v1/pk-[hidden]')
  })

  it('hides a private key behind a token', () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIEvQ\n-----END PRIVATE KEY-----'
    expect(scrub(`eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.${key}`)).toBe('[hidden][hidden]')
  })

  it('finds the tokens that a pattern finds', () => {
    const seed = Date.now() % 2 ** 31
    const piece = fc.constantFrom('eyJ', '.', 'a', 'abcdefgh', '-', '_', ' ', '/', 'eyJabcdefgh', 'E9')
    let tokens = 0
    fc.assert(
      fc.property(fc.array(piece, { minLength: 10, maxLength: 40 }), (pieces) => {
        const text = pieces.join('')
        const expected = text.replace(/eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/g, '[hidden]')
        if (expected !== text) tokens += 1
        expect(scrub(text)).toBe(expected)
      }),
      { seed, numRuns: 2000 },
    )
    process.stdout.write(`tokens: seed ${seed}, ${tokens} of 2000 texts had one\n`)
    expect(tokens).toBeGreaterThan(20)
  })

  it('reads beginnings of tokens once each, so that no path of a request holds up others', () => {
    const text = 'eyJa'.repeat(2048)
    // From each of them to the end of the text, this many would take minutes.
    for (let times = 0; times < 300; times++) expect(scrub(text)).toBe(text)
  })

  it('hides an escaped key behind text that begins like a key', () => {
    expect(scrub('GET /v1/mr_000000mr%5Fwallet%5F0000070000')).toBe('GET /v1/mr_[hidden]')
    expect(scrub('GET /v1/mr_wallet_1mr%5Fwallet%5F0000070000')).toBe('GET /v1/mr_wallet_[hidden]')
  })

  it('cuts text that is too long before it looks at it', () => {
    const scrubbed = scrub(`sk-${'a'.repeat(5_000_000)}`)
    expect(scrubbed.length).toBeLessThan(100)
    expect(scrub('://'.repeat(100_000)).length).toBeLessThan(9_000)
  })
})

describe('text around a key', () => {
  const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
  const body = (minLength: number) =>
    fc
      .string({ unit: fc.constantFrom(...alphabet), minLength, maxLength: 60 })
      .map((text) => `${text.slice(0, 5)}7${text.slice(6)}`)
  const kinds: Readonly<Record<string, fc.Arbitrary<readonly [kept: string, secret: string]>>> = {
    wallet: body(49).map((secret) => ['mr_wallet_', secret] as const),
    builder: body(49).map((secret) => ['mr_builder_', secret] as const),
    escaped: body(49).map((secret) => ['mr%5Fwallet%5F', secret] as const),
    openai: body(24).map((secret) => ['sk-', secret] as const),
    project: body(24).map((secret) => ['sk-proj-', secret] as const),
    anthropic: body(24).map((secret) => ['sk-ant-api03-', secret] as const),
    restricted: body(24).map((secret) => ['rk_live_', secret] as const),
    google: body(30).map((secret) => ['AIza', secret] as const),
    xai: body(30).map((secret) => ['xai-', secret] as const),
    groq: body(30).map((secret) => ['gsk_', secret] as const),
    huggingface: body(30).map((secret) => ['hf_', secret] as const),
    github: body(30).map((secret) => ['ghp_', secret] as const),
    replicate: body(30).map((secret) => ['r8_', secret] as const),
    token: fc.tuple(body(10), body(10)).map(([head, claims]) => ['eyJ', `${head}.${claims}`] as const),
    bearer: body(20).map((secret) => ['Bearer ', secret] as const),
    url: body(20).map((secret) => ['postgres://u:', `${secret}@`] as const),
  }
  const letters = fc.string({ unit: fc.constantFrom(...alphabet, '_', '-', '/'), maxLength: 12 })
  // What other keys begin with may take the beginning of this one along.
  const beginning = fc.constantFrom(
    'mr_',
    'mra_',
    'mr-abcde-abcde-',
    'sk-',
    'xai-',
    'hf_',
    'key=',
    'Bearer ',
    'live',
    'aZ',
  )
  const word = fc.oneof(
    letters,
    fc.array(beginning, { maxLength: 5 }).map((pieces) => pieces.join('')),
  )

  it.each(Object.keys(kinds))('%s: none of it is left', (kind) => {
    const seed = Date.now() % 2 ** 31
    const tried: Record<string, number> = {}
    fc.assert(
      fc.property(word, kinds[kind]!, word, (before, [kept, secret], after) => {
        const scrubbed = scrub(`GET /v1/${before}${kept}${secret}${after}`)
        const class_ = before === '' ? 'alone' : /[a-z0-9]$/i.test(before) ? 'behind a letter' : 'behind a mark'
        tried[class_] = (tried[class_] ?? 0) + 1
        expect(scrubbed).not.toContain(secret.slice(0, 12))
        expect(scrubbed).not.toContain(secret.replace('@', '').slice(-12))
      }),
      { seed, numRuns: 300 },
    )
    process.stdout.write(`${kind}: seed ${seed}, ${JSON.stringify(tried)}\n`)
  })
})

it.each([
  'MR-7K3QX-9ZB2M-4TN8C-HWV5D-R6EYG',
  'MR7K3QX9ZB2M4TN8CHWV5DR6EYG',
  'mr7k3qx9zb2m4tn8chwv5dr6eyg',
  '7K3QX-9ZB2M-4TN8C-HWV5D-R6EYG',
  'MR%207K3QX%209ZB2M%204TN8C%20HWV5D%20R6EYG',
  'MR%E2%80%937K3QX%E2%80%939ZB2M%E2%80%934TN8C%E2%80%93HWV5D%E2%80%93R6EYG',
])('a redemption code is hidden, however it is written: %s', (code) => {
  expect(scrubPath(`/console/api/operate/codes/${code}/withdraw`)).not.toMatch(/7k3qx/i)
})

it.each(['ann@example.com', 'ann%40example.com', 'ann%2540example.com'])('a path shows no email: %s', (email) => {
  expect(scrubPath(`/admin/v1/accounts/${email}/wallet/credit`)).toBe('/admin/v1/accounts/[email]/wallet/credit')
})

it('our own ids and the names of models stay', () => {
  expect(scrubPath('/v1/models/@cf/meta/some-model@20260101')).toBe('/v1/models/@cf/meta/some-model@20260101')
  const path = '/v1/models/a-rather-long-name-of-a-model-2026/req_01k5c6v8x0q2r4t6y8z0a2b4c6'
  expect(scrubPath(path)).toBe(path)
})

it('what only stands between letters is no code', () => {
  const path = `/${'-'.repeat(2000)}/${'a-'.repeat(480)}`
  expect(scrubPath(path)).toBe(path)
})
