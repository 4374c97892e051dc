import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { hideFromNowOn, hideSecrets } from './hide-secrets.ts'
import { Secret } from './secret.ts'

describe('hideSecrets', () => {
  it('knows a secret from the moment it is one, whatever it looks like', () => {
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
