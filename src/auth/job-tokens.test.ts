import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type IssuerFaults, startIssuer, type TestIssuer } from '../../test/fakes/oidc-issuer.ts'
import { systemClock } from '../lib/clock.ts'
import { createJobTokens } from './job-tokens.ts'

let issuer: TestIssuer
let stranger: TestIssuer

beforeAll(async () => {
  issuer = await startIssuer()
  stranger = await startIssuer()
})
afterAll(async () => {
  await issuer.close()
  await stranger.close()
})
beforeEach(() => {
  issuer.faults = {}
  issuer.requests.length = 0
})

/** What a new reader says about a token of the issuer: without keys from before. */
async function readWith(faults: IssuerFaults) {
  issuer.faults = faults
  const of = { name: 'ci', issuer: issuer.url, audience: 'mill', rules: [] }
  const read = createJobTokens(() => [of], systemClock)
  const outcome = await read(issuer.issueToken({ aud: 'mill', sub: 'a' }))
  return outcome.kind === 'read' ? 'read' : outcome.why
}

describe('the keys of an issuer', () => {
  it('are read where its discovery document says', async () => {
    expect(await readWith({})).toBe('read')
    expect(issuer.requests).toEqual(['/.well-known/openid-configuration', '/keys'])
  })

  it('are not read elsewhere than over https, or at an issuer on this machine itself', async () => {
    for (const keysAt of [`${stranger.url}/keys`, 'http://10.0.0.1/keys', 'file:///etc/passwd'])
      expect([keysAt, await readWith({ keysAt })]).toEqual([keysAt, 'unreachable'])
    expect(stranger.requests).toEqual([])
  })

  it('are not taken from an answer that is no set of keys', async () => {
    for (const keys of [
      { status: 302, headers: { location: `${stranger.url}/keys` }, text: '' },
      { status: 500, text: '{"keys":[]}' },
      { text: 'no JSON' },
      { text: '{"keys":7}' },
      { text: 'null' },
      { text: JSON.stringify({ keys: [], rest: 'x'.repeat(3 * 1024 * 1024) }) },
    ])
      expect([keys.text.slice(0, 20), await readWith({ keys })]).toEqual([keys.text.slice(0, 20), 'unreachable'])
    expect(stranger.requests).toEqual([])
  })

  it('are no shared secrets', async () => {
    const oct = { kty: 'oct', k: Buffer.from('public').toString('base64url'), alg: 'HS256' }
    for (const set of [{ keys: [] }, { keys: [oct] }, { keys: [null, 7, {}] }])
      expect(['invalid', 'unreachable']).toContain(await readWith({ keys: { text: JSON.stringify(set) } }))
  })

  it('are not those of an issuer that calls itself otherwise', async () => {
    expect(await readWith({ issuer: stranger.url })).toBe('unreachable')
  })
})

it('asks an issuer once for tokens that come at once', async () => {
  const issuers = [{ name: 'ci', issuer: issuer.url, audience: 'mill', rules: [] }]
  const read = createJobTokens(() => issuers, systemClock)
  const token = issuer.issueToken({ aud: 'mill' })
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => read(token)))
  expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['read']))
  expect(issuer.requests).toHaveLength(2)
})
