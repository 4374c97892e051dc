import { describe, expect, it } from 'vitest'
import type { Allowance } from '../../model/allowance.ts'
import type { AccountRow, BucketRow } from '../../model/ids.ts'
import type { NanoUsd } from '../../model/money.ts'
import { createAccountState } from './state.ts'
import { decideCap, drawsOf } from './turns.ts'

const window = (amount: bigint): Allowance => ({
  subject: 'window:5h',
  unit: 'quota',
  name: '5h',
  cycle: { kind: 'anchored', ms: 1000 },
  amount: amount as NanoUsd,
})

/** The refusal of a request for 100 on a window that was opened with `granted` of which `left` is there. */
function refusalOf({ granted, left, plan }: { granted: bigint; left: bigint; plan: bigint }) {
  const account = createAccountState(1 as AccountRow, { row: 1 as BucketRow, posted: 0n, held: 0n })
  const running = { row: 2 as BucketRow, unit: 'quota' as const, subject: 'window:5h', start: 0, end: 1000, held: 0n }
  account.periods.set('window:5h', { ...running, granted, posted: left })
  const draws = drawsOf(account, { kind: 'builder', allowances: [window(plan)] }, 10)
  const terms = { inputPico: 0n, outputPicoPerToken: 1000n, perRequest: 0n as NanoUsd }
  const chosenCap = { sharePercent: 25, tokensMin: 1 }
  return decideCap({ terms, clientCap: 100, modelCap: 100, chosenCap, choices: 1, inputEstimate: 0 }, draws, 10)
}

describe('a request that a window does not cover', () => {
  it('names the wait when the next window suffices', () => {
    expect(refusalOf({ granted: 200n, left: 50n, plan: 200n })).toMatchObject({ kind: 'exhausted', resetsInMs: 990 })
  })

  it('says that waiting does not help when no window suffices', () => {
    expect(refusalOf({ granted: 90n, left: 90n, plan: 90n })).toMatchObject({ kind: 'exceeds-allowance', limit: 90n })
  })

  it('is judged by the present plan, not by the one that opened the running window', () => {
    expect(refusalOf({ granted: 200n, left: 50n, plan: 90n })).toMatchObject({ kind: 'exceeds-allowance', limit: 90n })
    expect(refusalOf({ granted: 90n, left: 80n, plan: 200n })).toMatchObject({
      kind: 'exhausted',
      limit: 90n,
      used: 10n,
    })
  })
})
