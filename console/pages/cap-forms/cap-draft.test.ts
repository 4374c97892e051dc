import { describe, expect, it } from 'vitest'
import { draftOfCaps, readCapAmount, readCapDraft } from './cap-draft.ts'

describe('a form of caps', () => {
  const before = { day: '5.00', requests_day: 100 }

  it('sends what has changed, and null for what was emptied', () => {
    const draft = { ...draftOfCaps(before), day: '', month: '50', requests_day: '200' }
    expect(readCapDraft(before, draft)).toEqual({ body: { day: null, month: '50.00', requests_day: 200 }, wrong: [] })
    expect(readCapDraft(before, draftOfCaps(before))).toEqual({ body: {}, wrong: [] })
  })

  it('names the fields that are no amounts', () => {
    const draft = { ...draftOfCaps({}), day: '0', week: '-1', tokens_day: '1.5', requests_day: '7' }
    expect(readCapDraft({}, draft)).toEqual({ body: { requests_day: 7 }, wrong: ['day', 'week', 'tokens_day'] })
    expect([readCapAmount('day', '1000001'), readCapAmount('tokens_day', '0')]).toEqual([undefined, undefined])
  })
})
