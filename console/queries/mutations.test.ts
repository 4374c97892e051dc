import { expect, it } from 'vitest'
import { queriesInvalidatedBy } from './mutations.ts'

const AUDIT_QUERIES = ['GET /audit', 'GET /operate/audit']

it.each(['POST /session', 'DELETE /session', 'POST /invitation', 'POST /sign-up'] as const)(
  'invalidates nothing after %s',
  (runMutation) => {
    expect(queriesInvalidatedBy(runMutation)).toEqual([])
  },
)

it('invalidates the audit log after every mutation within a session', () => {
  expect(queriesInvalidatedBy('PUT /password')).toEqual(['GET /session', 'GET /sessions', ...AUDIT_QUERIES])
  expect(queriesInvalidatedBy('POST /operate/accounts/:account/invite')).toEqual(AUDIT_QUERIES)
})

it('does not invalidate the audit log after a turn', () => {
  expect(queriesInvalidatedBy('turn')).toEqual(['GET /overview'])
})
