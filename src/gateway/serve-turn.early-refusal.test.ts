import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import { CALLER } from '../../test/fixtures/model/caller.ts'
import type { Caller } from '../model/caller.ts'
import type { NanoUsd } from '../model/money.ts'
import { earlyRefusal } from './serve-turn.ts'

/** The refusal for a used-up request limit. */
async function emitted(caller: Caller, balance: bigint): Promise<string | undefined> {
  const money = balance as NanoUsd
  const early = await earlyRefusal(
    {
      ledger: {
        gate: { open: true, onOutage: () => () => {} },
        isWalletEmpty: async () => money <= 0n,
        limitRefusal: ([limit]) => limit && { kind: 'limited', limit, retryAfterMs: 1500 },
      },
      catalog: catalogOf(modelDefinition('m')),
      limits: { key: { requestsPerMinute: 1 }, account: {}, accountModel: {}, model: {} },
    },
    caller,
  )
  return early?.code
}

describe('of what could be refused before the body', () => {
  it('a limit is told to who has money', async () => {
    expect(await emitted(CALLER, 1n)).toBe('rate_limit_exceeded')
  })

  it('what no waiting mends is told instead of it', async () => {
    expect(await emitted(CALLER, 0n)).toBe('insufficient_balance')
    // That it has no plan is what admission says.
    expect(await emitted({ ...CALLER, kind: 'builder' }, 0n)).toBeUndefined()
  })
})
