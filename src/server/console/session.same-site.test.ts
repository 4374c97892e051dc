import { describe, expect, it } from 'vitest'
import { csrfTokenOf, isCsrfToken, isSameSite } from './session.ts'

const SITE = { origin: 'https://mill.example', isSecure: true, isPrivate: true }

describe('a request that changes something', () => {
  it.each([
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://mill.example' }, true],
    [{ 'sec-fetch-site': 'same-origin' }, true],
    [{ origin: 'https://mill.example' }, true],
    [{}, false],
    [{ 'sec-fetch-site': 'none' }, false],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://mill.example' }, false],
    [{ 'sec-fetch-site': 'cross-site', origin: 'https://mill.example' }, false],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://evil.example' }, false],
    [{ origin: 'null' }, false],
    [{ origin: 'http://mill.example' }, false],
    [{ origin: 'https://mill.example:8443' }, false],
  ])('with %o is of our own page: %s', (headers, own) => {
    expect(isSameSite(headers, SITE)).toBe(own)
  })
})

describe('the token of a session', () => {
  it('accepts its own pages only', () => {
    expect(isCsrfToken(csrfTokenOf('one'), 'one')).toBe(true)
    expect(isCsrfToken(csrfTokenOf('two'), 'one')).toBe(false)
    expect(isCsrfToken('one', 'one')).toBe(false)
    expect(isCsrfToken('', 'one')).toBe(false)
    expect(isCsrfToken(undefined, 'one')).toBe(false)
    expect(isCsrfToken([csrfTokenOf('one')], 'one')).toBe(false)
  })
})
