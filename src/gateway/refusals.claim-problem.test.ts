import { expect, it } from 'vitest'
import type { Claim } from '../ledger/state/state.ts'
import type { RequestId } from '../model/ids.ts'
import { claimProblem } from './refusals.ts'

const claimIn = (state: Claim['state']): Claim => ({ ...({} as Claim), requestId: 'req_1' as RequestId, state })

it.each([
  ['running', 'idempotency_in_progress', /is still running\..*A retry with the same key/],
  ['kept', 'idempotency_in_progress', /has just ended\..*A retry with the same key/],
  ['not-kept', 'idempotency_not_replayable', /was charged, and its answer is not kept/],
] as const)(
  'a request that lost its key to one that is %s in the moment of admission hears %s',
  (state, code, words) => {
    const { code: delivered, message } = claimProblem({ claim: claimIn(state), sameBody: true })
    expect(delivered).toBe(code)
    expect(message).toMatch(words)
  },
)

it('with another body it hears that the key is taken, whatever became of the other', () => {
  for (const state of ['running', 'kept', 'not-kept'] as const)
    expect(claimProblem({ claim: claimIn(state), sameBody: false }).code).toBe('idempotency_key_reused')
})
