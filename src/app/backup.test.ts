import { tmpdir } from 'node:os'
import { expect, it } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { secureRandom } from '../lib/random-id.ts'
import { backUpLedger } from './backup.ts'

it.each([
  ['file', true],
  ['apart', false],
] as const)('says where a copy is left that only the server sees, with its key ring %s', async (where, isWarned) => {
  const value = { key_ring: { where, founding: 'k1', ids: ['k1'] } }
  const operator = { call: async () => ({ kind: 'done', value }) as never, callEach: async () => ({}) as never }
  const loadSettings = () => ({ kind: 'invalid', message: '', data: undefined }) as const
  const services = {
    ...{
      version: '1.0.0',
      cwd: tmpdir(),
      pid: process.pid,
      clock: systemClock,
      random: secureRandom,
      operator,
      loadSettings,
    },
  }
  const request = { to: 'millrace-unseen', withKeyring: true, onStep: () => {} }
  const outcome = await backUpLedger(services, { config: undefined, data: undefined }, request)
  expect(outcome).toMatchObject({
    kind: 'refused',
    exit: 1,
    message: expect.stringMatching(/unseen\.partial-.*Delete it/),
  })
  expect(JSON.stringify(outcome).includes('it contains the key ring')).toBe(isWarned)
})
