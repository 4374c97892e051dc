import { expect, it } from 'vitest'
import { staleAfter } from './stale.ts'

const TRAILS = ['GET /audit', 'GET /operate/audit']

it.each(['POST /session', 'DELETE /session', 'POST /invitation', 'POST /sign-up'] as const)(
  'asks nothing anew after %s',
  (act) => {
    expect(staleAfter(act)).toEqual([])
  },
)

it('asks the trails anew after whatever somebody does within a session', () => {
  expect(staleAfter('PUT /password')).toEqual(['GET /session', 'GET /sessions', ...TRAILS])
  expect(staleAfter('POST /operate/accounts/:account/invite')).toEqual(TRAILS)
})

it('asks no trail anew after a turn', () => {
  expect(staleAfter('turn')).toEqual(['GET /overview'])
})
