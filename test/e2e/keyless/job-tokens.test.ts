import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startIssuer, type TestIssuer } from '../../fakes/oidc-issuer.ts'
import { AUDIENCE, exchange, jobToken, PUSH } from '../../support/job-keys.ts'
import { get } from '../../support/send-chat.ts'
import { startServer, type TestServer } from '../../support/start-server.ts'
import { openAccount, type TestAccount } from '../../support/test-account.ts'
import { TEST_CONFIG } from '../../support/test-config.ts'

let issuer: TestIssuer
let server: TestServer
let account: TestAccount
let key: string

const configOf = (keyId: string, limits = 'limits: { address: { refused_per_minute: off } }') => `${TEST_CONFIG}
${limits}
keyless:
  issuers:
    - name: forge
      issuer: "${issuer.url}"
      audience: ${AUDIENCE}
      rules:
        - name: main
          key: ${keyId}
          match: { repository: acme/mill, ref: [refs/heads/main, refs/heads/release/*] }
          run: { claims: [run_id, run_attempt], max: "1.00" }
`

beforeAll(async () => {
  issuer = await startIssuer()
  server = await startServer()
  account = await openAccount(server)
  key = (await account.createKey({ name: 'jobs' })).id
})
afterAll(async () => {
  await server.close()
  await issuer.close()
})
beforeEach(async () => {
  issuer.faults = {}
  await server.reload(configOf(key))
  // A failed look-up of the issuer is not repeated before.
  server.advance(60_000)
})

const give = (claims: object = {}) => exchange(server, jobToken(server, issuer, claims))
const refusalOf = async (sent: ReturnType<typeof exchange>) => {
  const { status, json } = await sent
  return { status, error: json.error, message: json.error_description }
}
const NO_TOKEN = {
  status: 400,
  error: 'invalid_request',
  message: expect.stringMatching(/^The token is not a valid one/),
}
const NO_RULE = {
  status: 400,
  error: 'invalid_request',
  message: 'No rule of this server admits the job of this token.',
}

describe('POST /oauth/token', () => {
  it('gives a key for the token of a job, which ends within the hour', async () => {
    const { status, headers, json } = await give()
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(json).toMatchObject({
      access_token: expect.stringMatching(/^mr_job_[0-9A-Za-z]{49}$/),
      ...{ token_type: 'Bearer', issued_token_type: 'urn:ietf:params:oauth:token-type:access_token' },
      run: 'job:main:4711.1',
    })
    expect(json.expires_in).toBeGreaterThan(3500)
    expect(json.expires_in).toBeLessThanOrEqual(3600)
    const who = { key: json.access_token }
    expect((await get(server, who, '/models')).status).toBe(200)
    expect((await get(server, who, '/key')).json).toMatchObject({ id: key, name: 'jobs', run: json.run })
    server.advance(3_600_000)
    const { status: later, json: refused } = await get(server, who, '/models')
    expect([later, refused.error.code]).toEqual([401, 'invalid_api_key'])
    expect(refused.error.message).toMatch(/expired/)
  })

  it('refuses tokens that the issuer has not signed for this server and this time', async () => {
    const now = Math.floor(server.app.operations.clock.now() / 1000)
    for (const claims of [
      { aud: 'https://another.example.com' },
      { aud: undefined },
      { exp: now - 120 },
      { exp: undefined },
      { nbf: now + 600 },
      { iss: 'https://token.actions.githubusercontent.com' },
      { iss: `${issuer.url}/` },
    ])
      expect([claims, await refusalOf(give(claims))]).toEqual([claims, NO_TOKEN])
    for (const signature of ['none', 'stranger'] as const) {
      issuer.faults = { signature }
      expect([signature, await refusalOf(give())]).toEqual([signature, NO_TOKEN])
    }
    issuer.faults = {}
    const [head, claims, signature] = jobToken(server, issuer).split('.')
    const other = Buffer.from(JSON.stringify({ ...PUSH, iss: issuer.url, aud: AUDIENCE, exp: now + 300, iat: now }))
    const sharedHead = Buffer.from(JSON.stringify({ alg: 'HS256' })).toString('base64url')
    const shared = createHmac('sha256', 'public').update(`${sharedHead}.${claims}`).digest('base64url')
    for (const token of [
      `${head}.${other.toString('base64url')}.${signature}`,
      `${sharedHead}.${claims}.${shared}`,
      `${head}.${claims}`,
      'eyJ',
      '\u0000',
      `${head}.${'e'.repeat(20_000)}.${signature}`,
    ])
      expect([token.slice(0, 30), await refusalOf(exchange(server, token))]).toEqual([token.slice(0, 30), NO_TOKEN])
  })

  it('follows a rotation of the keys, and asks for unknown ones no more than every ten seconds', async () => {
    expect((await give()).status).toBe(200)
    const asked = () => issuer.requests.filter((path) => path === '/keys').length
    const before = asked()
    issuer.rotate()
    server.advance(11_000)
    expect((await give()).status).toBe(200)
    expect(asked()).toBe(before + 1)
    issuer.faults = { signature: 'stranger' }
    issuer.rotate('ES256')
    for (let request = 0; request < 5; request++) expect(await refusalOf(give())).toEqual(NO_TOKEN)
    expect(asked()).toBe(before + 1)
    server.advance(11_000)
    issuer.faults = {}
    expect((await give()).status).toBe(200)
  })

  it('says that the issuer does not answer, and asks it again later', async () => {
    // Its keys are known for an hour.
    server.advance(2 * 3_600_000)
    issuer.faults = { status: 500 }
    const down = { status: 503, error: 'temporarily_unavailable' }
    expect(await refusalOf(give())).toMatchObject(down)
    const asked = issuer.requests.length
    expect(await refusalOf(give())).toMatchObject(down)
    expect(issuer.requests.length).toBe(asked)
    issuer.faults = {}
    server.advance(6_000)
    expect((await give()).status).toBe(200)
  })

  it('admits only jobs whose claims fit a rule', async () => {
    for (const [claims, admitted] of [
      [{ ref: 'refs/heads/release/1.2' }, true],
      [{ ref: 'refs/heads/main2' }, false],
      [{ ref: 'refs/heads/Main' }, false],
      [{ ref: 'refs/heads/release' }, false],
      [{ ref: ['refs/heads/main'] }, false],
      [{ ref: undefined }, false],
      [{ repository: 'acme/mill2' }, false],
      [{ repository: 'acme/mill\n' }, false],
      [{ ref: 'refs/heads/release/x\nrefs/heads/main' }, false],
      [{ ref: `refs/heads/release/${'x'.repeat(2000)}` }, false],
    ] as const) {
      const outcome = await refusalOf(give({ run_id: '4712', ...claims }))
      if (admitted) expect(outcome).toMatchObject({ status: 200 })
      else expect([claims, outcome]).toEqual([claims, NO_RULE])
    }
    expect(await refusalOf(give({ run_attempt: undefined }))).toMatchObject({
      message: 'The token has no claim run_attempt, which names its run.',
    })
  })

  it('gives no key when the key of the rule is gone', async () => {
    const of = await account.createKey({ name: 'short' })
    await server.reload(configOf(of.id))
    const { json } = await give({ run_id: '5000' })
    await server.operate('keys.disable', { key: of.id })
    expect((await get(server, { key: json.access_token }, '/models')).status).toBe(401)
    expect(await refusalOf(give({ run_id: '5000' }))).toMatchObject({ status: 400, message: /disabled/ })
    await server.operate('keys.enable', { key: of.id })
    expect((await get(server, { key: json.access_token }, '/models')).status).toBe(200)
    await server.operate('keys.revoke', { key: of.id })
    expect((await get(server, { key: json.access_token }, '/models')).status).toBe(401)
    expect(await refusalOf(give({ run_id: '5000' }))).toMatchObject({ status: 400, message: /revoked/ })
    await server.reload(configOf('key_00000000000000000000000000'))
    expect(await refusalOf(give())).toMatchObject({ message: 'The key of the rule for this job does not exist.' })
    await server.reload(TEST_CONFIG)
    expect(await give()).toMatchObject({ status: 404, json: { error: { code: 'endpoint_not_provided' } } })
  })

  it('reads the fields as RFC 8693 has them', async () => {
    const token = jobToken(server, issuer)
    for (const [fields, error] of [
      [{ grant_type: 'client_credentials' }, 'unsupported_grant_type'],
      [{ subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' }, 'invalid_request'],
      [{ subject_token: '' }, 'invalid_request'],
      [{ subject_token: [token, token] }, 'invalid_request'],
      [Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`x${at}`, ''])), 'invalid_request'],
      [{ requested_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, 'invalid_request'],
      [{ actor_token: 'x' }, 'invalid_request'],
      [{ scope: 'all' }, 'invalid_scope'],
      [{ audience: 'elsewhere' }, 'invalid_target'],
    ] as const)
      expect([fields, await refusalOf(exchange(server, token, fields))]).toMatchObject([fields, { status: 400, error }])
    expect(await refusalOf(exchange(server, 'x'.repeat(70_000)))).toMatchObject({ status: 413 })
    const address = `http://127.0.0.1:${server.port}/oauth/token`
    expect((await fetch(address)).status).toBe(405)
    const body = JSON.stringify({ subject_token: token })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(address, { method: 'POST', headers, body })).status).toBe(400)
  })

  it('counts wrong tokens against the address, and serves right ones beside a flood', async () => {
    await server.reload(configOf(key, 'limits: { address: { refused_per_minute: 60, burst: 2s } }'))
    const answers = []
    for (let request = 0; request < 4; request++) answers.push(await exchange(server, 'wrong'))
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 429, 429])
    expect(answers[3]!.headers.get('retry-after')).not.toBeNull()
    expect((await give()).status).toBe(200)
  })
})
