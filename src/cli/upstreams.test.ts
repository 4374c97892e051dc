import { expect, it } from 'vitest'
import type { LaneTest } from '../admin/test-lanes.ts'
import { styleFor } from './format.ts'
import { formatLaneTest } from './upstreams.ts'

const plain = styleFor(false)
const TEST: LaneTest = {
  ...{ lane: 'far/a', upstream: 'far', wire: 'chat', model: 'a', models: ['one'], url: 'https://far.example/v1/x' },
  ...{ ok: true, finding: 'answered', message: 'answered', cure: null, status: null, first_word_ms: 7, total_ms: 9 },
  ...{ input_tokens: 3, output_tokens: 2, answers_as: 'a-2026', provider_says: null, refused_fields: [] },
}
const NOTHING = { first_word_ms: null, total_ms: null, input_tokens: null, output_tokens: null, answers_as: null }

it('a lane that answers is one line', () => {
  expect(formatLaneTest(plain, TEST)).toBe(
    'ok    far/a  answered; first word 7 ms, whole 9 ms; 3 tokens in, 2 out; as a-2026\n',
  )
  const uncounted = { ...TEST, input_tokens: null, first_word_ms: null, refused_fields: ['max_tokens'] }
  expect(formatLaneTest(plain, uncounted)).toBe(
    'ok    far/a  answered; 9 ms, no word; tokens not counted; as a-2026; asked again because it refused max_tokens\n',
  )
})

it('one that fails has the address, the words and the cure below it; nothing in them moves a cursor', () => {
  const failed = { ...TEST, ...NOTHING, ok: false, message: 'it refuses the key (401)' }
  const said = { ...failed, finding: 'key-refused' as const, provider_says: 'No\u001b[2J', cure: 'Make another one.' }
  expect(formatLaneTest(plain, said)).toBe(
    [
      'FAIL  far/a  it refuses the key (401)\n',
      '      asked: POST https://far.example/v1/x\n',
      '      it says: No\ufffd[2J\n',
      '      Make another one.\n',
    ].join(''),
  )
})

it('one that was not asked says nothing of an address', () => {
  const test = { ...TEST, ...NOTHING, ok: false, finding: 'not-asked' as const, message: 'not asked' }
  expect(formatLaneTest(plain, test)).toBe('FAIL  far/a  not asked\n')
})
