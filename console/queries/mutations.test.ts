import { expect, it } from 'vitest'
import { queriesInvalidatedBy } from './mutations.ts'

const AUDIT_QUERIES = ['GET /audit', 'GET /operate/audit']

it.each(['POST /session', 'DELETE /session', 'POST /invitation', 'POST /sign-up'] as const)(
  'asks nothing anew after %s',
  (runMutation) => {
    expect(queriesInvalidatedBy(runMutation)).toEqual([])
  },
)

it('asks the trails anew after whatever somebody does within a session', () => {
  expect(queriesInvalidatedBy('PUT /password')).toEqual(['GET /session', 'GET /sessions', ...AUDIT_QUERIES])
  expect(queriesInvalidatedBy('POST /operate/accounts/:account/invite')).toEqual(AUDIT_QUERIES)
})

it('asks no trail anew after a turn', () => {
  expect(queriesInvalidatedBy('turn')).toEqual(['GET /overview'])
})
