import type { IncomingMessage } from 'node:http'
import { describe, expect, it } from 'vitest'
import { findSite, type SiteOptions } from './site.ts'

const OPTIONS: SiteOptions = { publicUrl: undefined, hosts: [], allowHttp: false }

const ask = (host: string | undefined, options: Partial<SiteOptions> = {}, isHttps = false) =>
  findSite({ headers: { host } } as unknown as IncomingMessage, { ...OPTIONS, ...options }, isHttps)

describe('the names that the console answers to', () => {
  it.each(['127.0.0.1:4600', 'localhost:4600', '[::1]:4600', 'millrace.localhost:4600', 'LOCALHOST:4600'])(
    'are those of the machine itself: %s',
    (host) => {
      expect(ask(host)).toEqual({
        kind: 'site',
        site: { origin: `http://${host.toLowerCase()}`, isSecure: false, isPrivate: true },
      })
    },
  )

  it.each(['evil.example', 'evil.example:4600', '127.0.0.1.evil.example:4600', 'localhost.evil.example', ''])(
    'are refused when another site can have them point here: %s',
    (host) => {
      expect(ask(host)).toEqual({ kind: 'foreign', host })
    },
  )

  it.each(['user@127.0.0.1:4600', '127.1:4600', '0x7f.1', '127.0.0.1:4600/x', 'a b', '127.0.0.1:99999', '[::1'])(
    'are spelled as a browser spells them: %s',
    (host) => {
      expect(ask(host).kind).toBe('foreign')
    },
  )

  it('are, from other machines, an address, the public URL and what the operator lists', () => {
    expect(ask('10.0.0.5:4600').kind).toBe('site')
    expect(ask('mill.internal:4600').kind).toBe('foreign')
    expect(ask('mill.internal:4600', { hosts: ['mill.internal'] }).kind).toBe('site')
    expect(ask('mill.example', { publicUrl: 'https://mill.example' })).toEqual({
      kind: 'site',
      site: { origin: 'https://mill.example', isSecure: true, isPrivate: true },
    })
    // The same name at another port is another site.
    expect(ask('mill.example:4600', { publicUrl: 'https://mill.example' }).kind).toBe('foreign')
  })
})

describe('whether passwords may be sent', () => {
  it('is yes on the machine itself and over TLS, no over plain HTTP from elsewhere', () => {
    const isPrivate = (...asked: Parameters<typeof ask>) => {
      const outcome = ask(...asked)
      return outcome.kind === 'site' && outcome.site.isPrivate
    }
    expect(isPrivate('localhost:4600')).toBe(true)
    expect(isPrivate('10.0.0.5:4600')).toBe(false)
    expect(isPrivate('10.0.0.5:4600', { allowHttp: true })).toBe(true)
    expect(isPrivate('10.0.0.5:4600', {}, true)).toBe(true)
    expect(isPrivate('mill.example', { publicUrl: 'http://mill.example' })).toBe(false)
    expect(isPrivate('localhost:8080', { publicUrl: 'http://localhost:8080/llm' })).toBe(true)
  })
})
