import { beforeEach, describe, expect, it } from 'vitest'
import { HOLD, useLedger } from '../../test/fixtures/ledger/ledger.ts'
import { GIVEN_BACK, settlement } from '../../test/fixtures/model/ending.ts'
import { findReceipt, forgetExpiredClaims } from '../db/receipts.ts'
import { systemClock } from '../lib/clock.ts'
import { writeEnding } from '../model/ending.ts'

const bench = useLedger()
/** So much that money is no reason to wait for anything. */
beforeEach(async () => void (await bench.credit(HOLD * 1000n)))

const claim = (over = {}) => ({ scope: 'scope', fingerprint: 'print', expiresAt: 4_000_000_000_000, ...over })

async function claimed(over = {}) {
  const looked = await bench.ledger.lookUpClaim('scope')
  const turn = await bench.admit({ claim: claim(over) })
  expect(await turn.durable).toBe('durable')
  return { ...turn, looked }
}

/** A settle first awaits its hold and the gate, both of which resolve at once. */
async function decided(): Promise<void> {
  for (let steps = 0; steps < 4; steps++) await Promise.resolve()
}

const stateOf = async () => {
  const { claim: found, durable, release } = await bench.ledger.lookUpClaim('scope')
  const state = found ? `${found.state} ${await durable}` : 'free'
  release()
  return state
}

describe('an idempotency key', () => {
  it('is taken with the hold, and ends with the charge', async () => {
    expect(await stateOf()).toBe('free')
    const turn = await claimed()
    expect(turn.mayCallBeforeDurable, 'a provider is not called before the key is taken').toBe(false)
    expect((await bench.admit()).mayCallBeforeDurable, 'and is called at once without a key').toBe(true)
    expect(await stateOf()).toBe('running durable')
    const settled = turn.settle({ ...settlement(100n), kept: true })
    await decided()
    expect(await stateOf()).toBe('kept durable')
    await settled
    turn.looked.release()
    expect(await stateOf()).toBe('kept durable')
    await bench.reopen()
    expect(await stateOf()).toBe('kept durable')
  })

  it('is not reported as kept by a lost charge', async () => {
    const turn = await claimed()
    bench.failWrites(/UPDATE receipts/)
    const settled = turn.settle({ ...settlement(100n), kept: true })
    await decided()
    const { claim: found, durable } = await bench.ledger.lookUpClaim('scope')
    expect([found?.state, await durable]).toEqual(['kept', 'lost'])
    bench.failWrites(undefined)
    expect((await settled).kind).toBe('settled')
    expect(await stateOf()).toBe('kept durable')
  })

  it('that one gives back another takes in the same batch', async () => {
    const first = await claimed()
    const released = first.settle(GIVEN_BACK)
    await decided()
    const second = await bench.admit({ claim: claim() })
    expect([(await released).kind, await second.durable]).toEqual(['released', 'durable'])
    expect(await stateOf()).toBe('running durable')
    expect(bench.failures).toEqual([])
    await second.settle(settlement(100n))
    expect(await stateOf()).toBe('not-kept durable')
    await bench.expectBalancedLedger()
  })

  it('says of a second request whether its body is the same', async () => {
    const turn = await claimed()
    for (const [fingerprint, sameBody] of [
      ['print', true],
      ['other', false],
    ] as const) {
      const refused = await bench.ledger.admit(bench.request({ claim: claim({ fingerprint }) }))
      expect(refused).toMatchObject({ kind: 'refused', refusal: { kind: 'claimed', sameBody } })
    }
    await turn.settle(settlement(100n))
  })

  it('is free when its time is over, and forgotten by the sweeper', async () => {
    const turn = await claimed({ expiresAt: systemClock.now() + 60_000 })
    await turn.settle({ ...settlement(100n), kept: true })
    turn.looked.release()
    turn.detach()
    await bench.ledger.sweep()
    expect(await stateOf()).toBe('kept durable')
    bench.clock.aheadMs += 60_000
    expect(await stateOf()).toBe('free')
    await bench.ledger.sweep()
    expect(await forgetExpiredClaims(bench.database.file, 5_000_000_000_000, 10)).toBe(0)
  })
})

describe('recovery finds a kept answer', () => {
  const ending = settlement(10n * 1000n + 2n * 5000n)

  it('and charges for it as its turn would have done: it can be given again', async () => {
    const turn = await claimed()
    turn.mark(1)
    bench.keptFacts.set(turn.requestId, writeEnding(ending))
    await bench.reopen()
    expect(await findReceipt(bench.database.db, turn.requestId)).toMatchObject({
      ...{ state: 'settled', outcome: 'completed', lane: 'demo/demo', uncached_input: 10, output: 2, estimated: 0 },
      ...{ charge_nano: 10n * 1000n + 2n * 5000n, attempts: JSON.stringify(ending.attempts), total_ms: 2 },
    })
    expect(await stateOf()).toBe('kept durable')
    await bench.expectBalancedLedger()
  })

  it('and records a compaction as its turn would have', async () => {
    const turn = await claimed()
    const compaction = { tokensBefore: 48_210, tokensAfter: 2_034 }
    bench.keptFacts.set(turn.requestId, writeEnding({ ...ending, compaction }))
    await bench.reopen()
    const receipt = await findReceipt(bench.database.db, turn.requestId)
    expect(receipt).toMatchObject({ outcome: 'completed', tokens_before: 48_210, tokens_after: 2_034 })
  })

  it('in the sweep too, when its turn has left; one that came without a key is charged for what is stored', async () => {
    const turn = await claimed()
    bench.keptFacts.set(turn.requestId, writeEnding(ending))
    const other = await bench.admit()
    await other.durable
    bench.keptFacts.set(other.requestId, writeEnding(ending))
    turn.detach()
    other.detach()
    turn.looked.release()
    expect(await bench.ledger.sweep()).toBe(2)
    expect(await findReceipt(bench.database.db, turn.requestId)).toMatchObject({ state: 'settled' })
    expect(await findReceipt(bench.database.db, other.requestId)).toMatchObject({ state: 'settled' })
    expect(await stateOf()).toBe('kept durable')
  })

  it('or none, and what had been delivered cannot be given again', async () => {
    const turn = await claimed()
    turn.mark(3)
    turn.detach()
    await bench.ledger.sweep()
    expect(await findReceipt(bench.database.db, turn.requestId)).toMatchObject({ outcome: 'recovered', output: 3 })
    expect(await stateOf()).toBe('not-kept durable')
  })
})

it('is not in use for ever when recovery has ended its request and two look it up before that is recorded', async () => {
  const turn = await claimed()
  turn.mark(3)
  turn.looked.release()
  turn.detach()
  const { file } = bench.database
  const { atomic } = file
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  // What is being recorded holds up the batch that recovery joins.
  file.atomic = (statements) => held.then(() => atomic(statements))
  const other = await bench.admit()
  await new Promise(setImmediate)
  const swept = bench.ledger.sweep()
  await expect.poll(stateInMemory).toBe('not-kept')
  expect(await stateInMemory()).toBe('not-kept')
  letGo()
  expect(await swept).toBe(1)
  expect(await stateOf()).toBe('not-kept durable')
  await other.settle(GIVEN_BACK)
})

/** A request whose key is in use, or whose answer is gone, does not wait. */
async function stateInMemory(): Promise<string> {
  const { claim: found, release } = await bench.ledger.lookUpClaim('scope')
  release()
  return found?.state ?? 'free'
}
