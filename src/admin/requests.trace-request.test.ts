import { describe, expect, it } from 'vitest'
import { useOperatorLedger } from '../../test/fixtures/admin/operations.ts'
import { secureRandom } from '../lib/random-id.ts'
import type { Ending } from '../model/ending.ts'
import { mintRequestId } from '../model/ids.ts'
import type { NanoUsd } from '../model/money.ts'
import { readReceipt } from './requests.ts'

const { fixture, callerOf, makeKey, must, refusal } = useOperatorLedger()

describe('requests', () => {
  /** One settled turn above the tier's threshold. */
  async function settleOne(over: Partial<Ending> = {}) {
    const { key } = await makeKey()
    await must('wallet.credit', { account: 'a@example.com', amount: '3', reason: 'r', ref: 'r' })
    const caller = await callerOf(key)
    const requestId = mintRequestId(fixture.services.clock.now(), secureRandom)
    const admission = await fixture.ledger.admit({
      requestId,
      account: caller.account,
      key: caller.key,
      kind: 'wallet',
      model: 'demo',
      priceVersion: 1,
      terms: { inputPico: 2_000_000n * 600n, outputPicoPerToken: 5_000_000n, perRequest: 0n as NanoUsd },
      clientCap: 10,
      modelCap: 100,
      chosenCap: { sharePercent: 25, tokensMin: 1024 },
      choices: 1,
      inputEstimate: 600,
      cachedEstimate: 0,
      allowances: [],
      claim: undefined,
      limits: [],
    })
    if (admission.kind !== 'admitted') throw new Error('not admitted')
    await admission.settle({
      outcome: 'completed',
      lane: 'demo/demo',
      firstByteMs: 3,
      totalMs: 9,
      attempts: [{ lane: 'demo/demo', outcome: 'completed', status: 200, ms: 8 }],
      owed: {
        usage: { uncachedInput: 600, cachedInput: 0, cacheWrite: 0, output: 4, reasoning: 1, estimated: false },
        tier: 500,
        cost: 1_220_000n as NanoUsd,
      },
      compaction: undefined,
      kept: false,
      ...over,
    })
    admission.detach()
    return { requestId, caller }
  }

  it('are traced from caller to charge', async () => {
    const { requestId, caller } = await settleOne()
    expect(await must('requests.trace', { request: requestId })).toMatchObject({
      id: requestId,
      state: 'settled',
      outcome: 'completed',
      account: { id: caller.accountId, email: 'a@example.com' },
      key: { name: 'ci' },
      model: 'demo',
      lane: 'demo/demo',
      tokens: { uncached_input: 600, output: 4, reasoning: 1, estimated: false },
      compaction: null,
      price_version: 1,
      tier: 500,
      output_cap: 10,
      hold: '0.00125',
      cost: '0.00122',
      charge: '0.00122',
      shortfall: '0.00',
      attempts: [{ lane: 'demo/demo', outcome: 'completed', status: 200, ms: 8 }],
    })
    expect(await refusal('requests.trace', { request: 'req_nothing' })).toMatchObject({ reason: 'request_not_found' })
    expect(await must('wallet.show', { account: 'a@example.com' })).toMatchObject({ balance: '2.99878', held: '0.00' })
  })

  it('show their cost to their account, without lanes', async () => {
    const { requestId, caller } = await settleOne()
    const receipt = await readReceipt(fixture.services, caller, requestId)
    expect(receipt).toMatchObject({ object: 'request', charge: '0.00122', price: { input: '2.00', output: '5.00' } })
    expect(JSON.stringify(receipt)).not.toContain('demo/demo')
    const stranger = { ...caller, account: (caller.account + 1) as typeof caller.account }
    expect(await readReceipt(fixture.services, stranger, requestId)).toBeUndefined()
  })

  it('show the size of a conversation before and after compaction', async () => {
    const compaction = { tokensBefore: 48_210, tokensAfter: 2_034 }
    const { requestId, caller } = await settleOne({ compaction })
    const emitted = { compaction: { tokens_before: 48_210, tokens_after: 2_034 } }
    expect(await readReceipt(fixture.services, caller, requestId)).toMatchObject(emitted)
    expect(await must('requests.trace', { request: requestId })).toMatchObject(emitted)
  })

  it('show the cost of a lost cache', async () => {
    const attempts = [{ lane: 'demo/demo', outcome: 'completed', status: 200, ms: 8, cacheLost: 500 }]
    const owedFor = (cacheWrite: number): Partial<Ending> => ({
      attempts,
      owed: {
        usage: {
          uncachedInput: 600 - cacheWrite,
          cachedInput: 0,
          cacheWrite,
          output: 4,
          reasoning: 1,
          estimated: false,
        },
        tier: 500,
        cost: 1_220_000n as NanoUsd,
      },
    })
    const lostOf = async (over: Partial<Ending>) => {
      const { requestId, caller } = await settleOne(over)
      return (await readReceipt(fixture.services, caller, requestId))?.cache_lost
    }
    // A million are 2.00, from the cache 0.50, written to it 2.50.
    expect(await lostOf({})).toBeNull()
    expect(await lostOf(owedFor(0))).toEqual({ tokens: 500, cost: '0.00075' })
    expect(await lostOf(owedFor(400))).toEqual({ tokens: 500, cost: '0.00095' })
    expect(await lostOf(owedFor(600))).toEqual({ tokens: 500, cost: '0.001' })
  })

  it('leave a balanced ledger', async () => {
    await settleOne()
    expect(await must('db.verify', {})).toMatchObject({
      ok: true,
      violations: 0,
      accounts: 1,
      receipts: 1,
      transfers: 1,
    })
  })
})
