import { describe, expect, it } from 'vitest'
import { changesOf, draftOf, type KeyDraft, NEW_DRAFT, readDraft } from './key-draft.ts'
import type { OwnKey } from './key-facts.tsx'

const NOW = Date.parse('2026-11-22T12:00:00Z')
const read = (draft: Partial<KeyDraft>, zone = 'UTC') => readDraft({ ...NEW_DRAFT, name: 'ci', ...draft }, zone, NOW)

const CAP = {
  used: '0.00',
  held: '0.00',
  left: '5.00',
  start: '2026-11-22T00:00:00Z',
  end: '2026-11-23T00:00:00Z',
  raised_until: null,
  holder: 'key' as const,
}
const KEY: OwnKey = {
  ...{ id: 'key_1', name: 'ci', kind: 'wallet', shown: 'mr_wallet_Ab12...Yz89', state: 'active', playground: false },
  ...{ models: ['fast-*'], limits: { requests_per_minute: 60, tokens_per_minute: null, concurrent: null } },
  caps: [{ name: 'day', limit: '5.00', ...CAP }],
  ...{ shared: [], person: null, team: null },
  ...{ created_at: '2026-11-01T00:00:00Z', last_used_at: null, expires_at: '2027-01-31T00:00:00Z', former: null },
  addresses: ['10.0.0.0/8'],
  run: null,
  step_down: null,
}
const changed = (draft: Partial<KeyDraft>) => changesOf(KEY, readDraft({ ...draftOf(KEY), ...draft }, 'UTC', NOW).terms)

describe('the key form', () => {
  it('contains only a name by default', () => {
    expect(read({})).toEqual({
      terms: {
        ...{ name: 'ci', models: null, caps: { day: null, month: null }, expires: null, addresses: null },
        ...{ run: null, step_down: null },
        limits: { requests_per_minute: null, tokens_per_minute: null, concurrent: null },
      },
      wrong: [],
    })
  })

  it('gives each conversation a budget, keeps its other bounds, and needs one', () => {
    expect(read({ run: 'required' }).terms.run).toBe('required')
    expect(read({ run: 'each_conversation', runMax: '0.50' }).terms.run).toEqual({ each_conversation: { max: '0.50' } })
    expect(read({ run: 'each_conversation' }).wrong).toEqual(['run'])
    expect(read({ run: 'each_conversation', runMax: '-1', runBounds: { max_requests: 5 } }).wrong).toEqual(['run'])
    const bounded = { ...KEY, run: { each_conversation: { max: '0.50', max_requests: 5 } } }
    const change = (draft: Partial<KeyDraft>) =>
      changesOf(bounded, readDraft({ ...draftOf(bounded), ...draft }, 'UTC', NOW).terms)
    expect(change({})).toEqual({})
    expect(change({ runMax: '0.60' })).toEqual({ run: { each_conversation: { max: '0.60', max_requests: 5 } } })
    expect(change({ runMax: '' })).toEqual({ run: { each_conversation: { max_requests: 5 } } })
    expect(change({ run: 'none' })).toEqual({ run: null })
  })

  it('steps down to a cheaper model, and sends it only if it changed', () => {
    expect(read({ stepDown: ' fast ' }).terms.step_down).toEqual({ to: 'fast', below_percent: 0 })
    expect(read({ stepDown: 'fast', stepDownBelow: '10' }).terms.step_down).toEqual({ to: 'fast', below_percent: 10 })
    for (const stepDownBelow of ['101', '-1', '1.5', 'x'])
      expect(read({ stepDown: 'fast', stepDownBelow }).wrong).toEqual(['stepDown'])
    const stepping = { ...KEY, step_down: { to: 'fast', below_percent: 10 } }
    const change = (draft: Partial<KeyDraft>) =>
      changesOf(stepping, readDraft({ ...draftOf(stepping), ...draft }, 'UTC', NOW).terms)
    expect(change({})).toEqual({})
    expect(change({ stepDownBelow: '' })).toEqual({ step_down: { to: 'fast', below_percent: 0 } })
    expect(change({ stepDown: '' })).toEqual({ step_down: null })
  })

  it('takes addresses however they are separated, and sends them only if they changed', () => {
    expect(read({ addresses: ' 203.0.113.7, 10.0.0.0/8\n2001:DB8::/32 ' }).terms.addresses).toEqual([
      ...['203.0.113.7', '10.0.0.0/8', '2001:DB8::/32'],
    ])
    for (const addresses of ['example.com', '1.2.3.4/x', Array(33).fill('10.0.0.1').join(' ')]) {
      expect(read({ addresses }).wrong).toEqual(['addresses'])
    }
    expect(changed({})).toEqual({})
    expect(changed({ addresses: '' })).toEqual({ addresses: null })
    expect(changed({ addresses: '10.0.0.0/8 192.0.2.1' })).toEqual({ addresses: ['10.0.0.0/8', '192.0.2.1'] })
  })

  it('is parsed exactly', () => {
    const { terms } = read({
      day: '2,5',
      month: '1000000',
      limits: { ...NEW_DRAFT.limits, concurrent: ' 4 ' },
      expiry: '30d',
    })
    expect(terms.caps).toEqual({ day: '2.50', month: '1000000.00' })
    expect(terms.limits.concurrent).toBe(4)
    expect(terms.expires).toBe('30d')
  })

  it("expires when the chosen day begins in the user's zone", () => {
    const draft = { expiry: 'day', expiryDay: '2027-01-31' } as const
    expect(read(draft).terms.expires).toBe('2027-01-31T00:00:00.000Z')
    expect(read(draft, 'Europe/Berlin').terms.expires).toBe('2027-01-30T23:00:00.000Z')
  })

  it.each([
    ['name', { name: '  ' }],
    ['models', { models: [] }],
    ['day', { day: '0' }],
    ['month', { month: '1000000.01' }],
    ['requests_per_minute', { limits: { ...NEW_DRAFT.limits, requests_per_minute: '1.5' } }],
    ['concurrent', { limits: { ...NEW_DRAFT.limits, concurrent: '0' } }],
    ['expiry', { expiry: 'day', expiryDay: '' }],
    ['expiry', { expiry: 'day', expiryDay: '2026-11-22' }],
    ['expiry', { expiry: 'day', expiryDay: '2027-02-30' }],
  ] satisfies [string, Partial<KeyDraft>][])('reports an invalid %s', (field, draft) => {
    expect(read(draft).wrong).toEqual([field])
  })
})

describe('the changes of a key', () => {
  it('are empty for an untouched form', () => {
    expect(changed({})).toEqual({})
  })

  it('contain only the changed fields', () => {
    expect(changed({ name: 'ci 2' })).toEqual({ name: 'ci 2' })
    expect(changed({ day: '5', month: '50' })).toEqual({ caps: { month: '50.00' } })
    expect(changed({ day: '' })).toEqual({ caps: { day: null } })
    expect(changed({ limits: { ...draftOf(KEY).limits, requests_per_minute: '' } })).toEqual({
      limits: { requests_per_minute: null },
    })
    expect(changed({ models: null })).toEqual({ models: null })
    expect(changed({ models: ['fast-*', 'deep'] })).toEqual({ models: ['fast-*', 'deep'] })
    expect(changed({ expiry: 'never' })).toEqual({ expires: null })
    expect(changed({ expiry: '7d' })).toEqual({ expires: '7d' })
  })
})
