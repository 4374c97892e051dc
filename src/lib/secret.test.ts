import { randomBytes } from 'node:crypto'
import { format, inspect } from 'node:util'
import { describe, expect, it, test } from 'vitest'
import { hideFromNowOn, hideSecrets, Secret } from './secret.ts'

const TEXT = 'sk-live-0123456789'
const secret = new Secret(TEXT)

test('only who asks for it by name gets it', () => {
  expect(secret.reveal()).toBe(TEXT)
  expect(secret.equals(new Secret(TEXT))).toBe(true)
  expect(secret.equals(new Secret('another'))).toBe(false)
})

test.each<[string, () => unknown]>([
  ['in a template', () => `key ${secret}`],
  ['by concatenation', () => `key ${String(secret)}`],
  ['as JSON', () => JSON.stringify({ deep: [{ secret }] })],
  ['by inspect', () => inspect({ deep: [{ secret }] }, { depth: 9, showHidden: true, customInspect: true })],
  ['by inspect without custom printing', () => inspect({ secret }, { customInspect: false, showHidden: true })],
  ['by format', () => format('%s %o %O %j', secret, secret, secret, secret)],
  ['in an error message', () => new Error(`refused ${secret}`, { cause: secret }).stack],
  ['by copying its properties', () => JSON.stringify([{ ...secret }, Object.entries(secret), Reflect.ownKeys(secret)])],
  ['by cloning', () => inspect(structuredClone({ secret }))],
])('it does not come out %s', (_, print) => {
  expect(String(print())).not.toContain(TEXT)
})

test('it says that it is there', () => {
  expect(`${secret} ${JSON.stringify(secret)} ${inspect(secret)}`).toBe('[secret] "[secret]" [secret]')
})

describe('hideSecrets', () => {
  it('knows any secret from the moment it exists', () => {
    // Another in each run: a process that runs many tests may know one from elsewhere.
    const text = randomBytes(12).toString('base64url')
    expect(hideSecrets(`refused: ${text}.`)).toBe(`refused: ${text}.`)
    new Secret(text)
    expect(hideSecrets(`refused: ${text}, ${text}.`)).toBe('refused: [secret], [secret].')
  })

  it('knows each word of it, and how it stands in an address', () => {
    hideFromNowOn('Token a+b/c=d0123456')
    expect(hideSecrets('x-auth: Token a+b/c=d0123456')).toBe('x-auth: [secret]')
    expect(hideSecrets('a+b/c=d0123456')).toBe('[secret]')
    expect(hideSecrets('/v1?key=a%2Bb%2Fc%3Dd0123456&x=1')).toBe('/v1?key=[secret]&x=1')
  })

  it.each([0, 1, 2, 3, 4, 5])('knows it in base64, also behind a name of %i letters', (length) => {
    const secret = `sk-${randomBytes(21).toString('base64url')}?>~`
    new Secret(secret)
    const credentials = `${'u'.repeat(length)}:${secret}`
    for (const text of [secret, credentials, `${secret}:x`, `{"key":"${secret}"}`]) {
      for (const encoding of ['base64', 'base64url'] as const) {
        const encoded = Buffer.from(text).toString(encoding)
        for (const spelling of [encoded, encoded.replace(/=+$/, ''), encodeURIComponent(encoded)]) {
          const emitted = hideSecrets(`refused: Basic ${spelling}.`)
          expect(emitted).toContain('[secret]')
          // At most the letters that hold a neighbour's bits are left of it.
          const decoded = Buffer.from(emitted.replace(/^.*Basic |\[secret\].*$/g, ''), 'base64').toString()
          expect(decoded).not.toContain(secret.slice(0, 4))
          expect(emitted.length).toBeLessThan(`refused: Basic ${spelling}.`.length - secret.length + '[secret]'.length)
        }
      }
    }
  })

  it('knows it in capitals, in small letters, and with small letters in the escapes of an address', () => {
    const secret = `Key/${randomBytes(12).toString('hex')}+A`
    new Secret(secret)
    const inAddress = encodeURIComponent(secret)
    const spellings = [
      secret.toUpperCase(),
      secret.toLowerCase(),
      inAddress,
      inAddress.replace(/%2F|%2B/g, (e) => e.toLowerCase()),
    ]
    expect(spellings.map(hideSecrets)).toEqual(Array(4).fill('[secret]'))
  })

  it('leaves nothing of a secret that contains another', () => {
    hideFromNowOn('inner-secret-1')
    hideFromNowOn('outer-inner-secret-1-outer')
    expect(hideSecrets('<outer-inner-secret-1-outer><inner-secret-1>')).toBe('<[secret]><[secret]>')
  })

  it('leaves ordinary words alone, and beginnings: a client could try those one by one', () => {
    hideFromNowOn('ollama')
    hideFromNowOn('guess-me-if-you-can')
    hideFromNowOn('half a pair \ud800, and more')
    expect(hideSecrets('ollama says guess-me-if-you-c')).toBe('ollama says guess-me-if-you-c')
  })
})
