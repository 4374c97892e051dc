import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { upstreamAt } from '../../test/fixtures/providers/provider.ts'
import { Secret } from '../lib/secret.ts'
import { type Finding, type FindingFacts, LANE_FINDINGS, wordsOf } from './lane-findings.ts'

const KEY = 'a-key-that-nobody-shall-read-0815'
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

describe('what is said of a lane', () => {
  it.each(FINDINGS)(
    '%s is a clause without a stop, and a sentence of what to do where something is wrong',
    (finding) => {
      const { ok, says, cure } = wordsOf(finding)
      for (const known of [facts(), facts({ status: 401, url: undefined, failure: 'far failed (X).' })]) {
        expect(says(known)).toMatch(/^\S.*[^.\s]$/)
        expect(says(known)).not.toMatch(/undefined|\[object/)
        if (cure === undefined) continue
        expect(cure(known)).toMatch(/^[A-Z].*\.$/)
        expect(cure(known)).not.toMatch(/undefined|\[object/)
        expect(says(known) + cure(known)).not.toContain(KEY)
      }
      expect(cure === undefined).toBe(ok || finding === 'not-asked')
    },
  )

  it('names status, host, model and limit', () => {
    expect(wordsOf('key-refused').says(facts({ status: 401 }))).toBe('it refuses the key (401)')
    expect(wordsOf('key-refused').cure?.(facts())).toMatch(/api\.example\.com/)
    expect(wordsOf('model-unknown').says(facts({ status: 404 }))).toMatch(
      /far-model \(404\); address and key are right/,
    )
    expect(wordsOf('tls-other-name').says(facts())).toMatch(/api\.example\.com$/)
    const limits = { connect: 5000, 'first-byte': 20_000, idle: 20_000, 'no-progress': 20_000, total: 60_000 } as const
    for (const [expired, ms] of Object.entries(limits) as [keyof typeof limits, number][]) {
      const { says } = wordsOf(expired === 'connect' ? 'no-connection' : 'too-slow')
      expect(says(facts({ expired }))).toContain(`timeouts.${expired.replace('-', '_')} (${ms} ms)`)
    }
    expect(wordsOf('throttled').cure?.(facts({ retryAfterMs: 36_500 }))).toMatch(/^Ask again in 37 s;/)
    expect(wordsOf('broken-off').cure?.(facts({ url: 'http://a.example/v1' }))).toMatch(/https/)
  })

  it('stands in the page, each finding once and nothing else', () => {
    const page = readFileSync(new URL('../../docs/operate/upstreams-test.md', import.meta.url), 'utf8')
    expect([...page.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name)).toEqual(FINDINGS)
  })
})
