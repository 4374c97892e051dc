import { expect, it } from 'vitest'
import type { LaneTest } from '../admin/test-lanes.ts'
import { styleFor } from './format.ts'
import { formatLaneTest } from './models.ts'

const plain = styleFor(false)
const TEST: LaneTest = {
  ...{ lane: 'far/a', upstream: 'far', wire: 'chat', model: 'a', models: ['one'], url: 'https://far.example/v1/x' },
  ...{ ok: true, finding: 'answered', message: 'answered', cure: null, status: null, first_word_ms: 7, total_ms: 9 },
  ...{ input_tokens: 3, output_tokens: 2, answers_as: 'a-2026', provider_says: null, refused_fields: [] },
}
const NOTHING = { first_word_ms: null, total_ms: null, input_tokens: null, output_tokens: null, answers_as: null }

it('a passing lane is one line', () => {
  expect(formatLaneTest(plain, TEST)).toBe(
    'ok    far/a  answered; first token 7 ms, total 9 ms; 3 tokens in, 2 out; model a-2026\n',
  )
  const uncounted = { ...TEST, input_tokens: null, first_word_ms: null, refused_fields: ['max_tokens'] }
  expect(formatLaneTest(plain, uncounted)).toBe(
    'ok    far/a  answered; 9 ms, no content; no usage reported; model a-2026; retried because it rejected max_tokens\n',
  )
})

it('a failing lane is followed by its URL, the provider’s message and the fix, without control characters', () => {
  const failed = { ...TEST, ...NOTHING, ok: false, message: 'it rejects the key (401)' }
  const emitted = {
    ...failed,
    finding: 'key-refused' as const,
    provider_says: 'No\u001b[2J',
    cure: 'Make another one.',
  }
  expect(formatLaneTest(plain, emitted)).toBe(
    [
      'FAIL  far/a  it rejects the key (401)\n',
      '      request: POST https://far.example/v1/x\n',
      '      provider: No\ufffd[2J\n',
      '      Make another one.\n',
    ].join(''),
  )
})

it('a skipped lane has no URL', () => {
  const test = { ...TEST, ...NOTHING, ok: false, finding: 'not-asked' as const, message: 'skipped' }
  expect(formatLaneTest(plain, test)).toBe('FAIL  far/a  skipped\n')
})
