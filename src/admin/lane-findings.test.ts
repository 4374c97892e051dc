import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { upstreamAt } from '../../test/fixtures/providers/provider.ts'
import { Secret } from '../lib/secret.ts'
import { describeFinding, type Finding, type FindingFacts, LANE_FINDINGS } from './lane-findings.ts'

const KEY = 'a-key-that-must-not-appear-0815'
const FINDINGS = Object.keys(LANE_FINDINGS) as Finding[]

const facts = (over: Partial<FindingFacts> = {}): FindingFacts => ({
  upstream: upstreamAt('https://api.example.com/v1', { apiKey: new Secret(KEY) }),
  model: 'far-model',
  url: 'https://api.example.com/v1/chat/completions',
  status: undefined,
  expired: undefined,
  retryAfterMs: undefined,
  failure: undefined,
  contentType: undefined,
  ...over,
})

describe('the text of a finding', () => {
  it.each(FINDINGS)('%s is a clause without a full stop, with a sentence that says what to do', (finding) => {
    for (const known of [facts(), facts({ status: 401, url: undefined, failure: 'far failed (X).' })]) {
      const { ok, message, cure } = describeFinding(finding, known)
      expect(message).toMatch(/^\S.*[^.\s]$/)
      expect(message).not.toMatch(/undefined|\[object/)
      expect(cure === null).toBe(ok || finding === 'not-asked')
      if (cure === null) continue
      expect(cure).toMatch(/^[A-Z].*\.$/)
      expect(cure).not.toMatch(/undefined|\[object/)
      expect(message + cure).not.toContain(KEY)
    }
  })

  it('names status, host, model and limit', () => {
    const messageOf = (finding: Finding, over: Partial<FindingFacts>) => describeFinding(finding, facts(over)).message
    const fixOf = (finding: Finding, over: Partial<FindingFacts>) => describeFinding(finding, facts(over)).cure
    expect(messageOf('key-refused', { status: 401 })).toBe('it rejects the key (401)')
    expect(fixOf('key-refused', {})).toMatch(/api\.example\.com/)
    expect(messageOf('model-unknown', { status: 404 })).toMatch(/far-model \(404\); address and key are right/)
    expect(messageOf('tls-other-name', {})).toMatch(/api\.example\.com$/)
    const limits = { connect: 5000, 'first-byte': 20_000, idle: 20_000, 'no-progress': 20_000, total: 60_000 } as const
    for (const [expired, ms] of Object.entries(limits) as [keyof typeof limits, number][]) {
      const finding = expired === 'connect' ? 'no-connection' : 'too-slow'
      expect(messageOf(finding, { expired })).toContain(`timeouts.${expired.replace('-', '_')} (${ms} ms)`)
    }
    expect(fixOf('throttled', { retryAfterMs: 36_500 })).toMatch(/^Retry in 37 s;/)
    expect(fixOf('broken-off', { url: 'http://a.example/v1' })).toMatch(/https/)
  })

  it('is in the documentation, each finding once', () => {
    const page = readFileSync(new URL('../../docs/operate/upstreams-test.md', import.meta.url), 'utf8')
    expect([...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name)).toEqual(FINDINGS)
  })
})
