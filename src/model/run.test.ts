import { expect, it } from 'vitest'
import { measureOf } from './allowance.ts'
import {
  capsOfRun,
  parseRunRule,
  readRun,
  readRunRuleText,
  runRuleText,
  termsOfConversation,
  writeRunRule,
} from './run.ts'

const termsOf = (header: string) => {
  const read = readRun(header)
  return read.kind === 'run' ? read.terms : read.message
}

it('reads the terms of a run', () => {
  expect(termsOf('fix-17')).toEqual({ id: 'fix-17', parent: undefined, amounts: {}, ends: undefined })
  expect(termsOf(' fix.17:a ; max=0.50 ;MAX_REQUESTS=7; max_tokens = 1000;; parent=fix; ends=2h')).toEqual({
    ...{ id: 'fix.17:a', parent: 'fix', ends: { afterMs: 7_200_000 } },
    amounts: { total: 500_000_000n, requests: 7n, tokens: 1000n },
  })
  expect(termsOf('a; ends=2026-12-01T00:00:00+01:00')).toMatchObject({
    ends: { at: Date.parse('2026-11-30T23:00:00Z') },
  })
})

it('refuses what it does not understand, and says it back in brief', () => {
  for (const header of [
    'a; ends=tomorrow',
    'a; ends=2026-13-01T00:00:00Z',
    'a; ends=0h',
    'a; max=0.0000000001',
    'ä',
    'a b',
  ])
    expect(termsOf(header)).toMatch(/^The header x-millrace-run is invalid: /)
  expect(termsOf(`${'x'.repeat(5000)}; max=1`)).toMatch(/^.{1,250}$/)
})

it('counts each amount in its own unit', () => {
  const caps = capsOfRun(7, 1000, { total: 5n, requests: 6n, tokens: null })
  expect(caps.map((cap) => [cap.subject, measureOf(cap)])).toEqual([
    ['cap:run:7:total', 'usd'],
    ['cap:run:7:requests', 'requests'],
  ])
})

it('writes the rule of a key in one way, and reads it back', () => {
  expect(writeRunRule({ each_conversation: { ends: '2h', max: '0.5' } })).toBe(
    '{"each_conversation":{"max":"0.50","ends":"2h"}}',
  )
  expect([writeRunRule(null), parseRunRule(null)]).toEqual([null, null])
  for (const text of ['required', 'max=0.50; max_requests=7; ends=2h', 'max_tokens=9']) {
    const rule = readRunRuleText(text)
    expect(parseRunRule(writeRunRule(rule))).toEqual(rule)
    expect(runRuleText(rule)).toBe(text)
  }
  // The schema of keys refuses these by name.
  expect(readRunRuleText('0.50')).toEqual({ each_conversation: { '': '0.50' } })
  expect(readRunRuleText('max_requests=many')).toEqual({ each_conversation: { max_requests: 'many' } })
})

it('gives a conversation the budget of its key, for a week without an end', () => {
  expect(termsOfConversation('abc', { max: '0.5', max_tokens: 9 })).toEqual({
    ...{ id: 'conversation-abc', parent: undefined, ends: { afterMs: 7 * 86_400_000 }, areOfKey: true },
    amounts: { total: 500_000_000n, tokens: 9n },
  })
  expect(termsOfConversation('abc', { max_requests: 1, ends: '45m' }).ends).toEqual({ afterMs: 2_700_000 })
})
