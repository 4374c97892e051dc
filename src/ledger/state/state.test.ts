import { describe, expect, it } from 'vitest'
import { ACCOUNTS, admitAt, admitOf, closeOf, endingOf, stateWith } from '../../../test/fixtures/ledger/state/state.ts'
import type { AppliedLimit } from '../../model/caller.ts'
import type { RequestId } from '../../model/ids.ts'
import { accountStateOf } from './state.ts'
import { closeTurn } from './turns.ts'

describe('admitTurn', () => {
  it('holds the whole cap of the model when the money covers it', () => {
    const ledgerState = stateWith(1_000_000n)
    expect(admitAt(ledgerState, admitOf())).toMatchObject({ kind: 'held', cap: 4096, heldAmount: 1000n + 4096n })
  })

  it('chooses a quarter of what is left after the input when the maximum is not affordable', () => {
    const ledgerState = stateWith(1000n + 3000n * 4n)
    expect(admitAt(ledgerState, admitOf({ modelCap: 100_000 }))).toMatchObject({ kind: 'held', cap: 3000 })
  })

  it('never chooses a cap below 1,024 tokens, or below the whole of a smaller model', () => {
    expect(admitAt(stateWith(1000n + 1100n), admitOf({ modelCap: 100_000 }))).toMatchObject({
      kind: 'held',
      cap: 1024,
    })
    expect(admitAt(stateWith(1000n + 1000n), admitOf({ modelCap: 100_000 }))).toMatchObject({ kind: 'short' })
    expect(admitAt(stateWith(1000n + 600n), admitOf({ modelCap: 500 }))).toMatchObject({ kind: 'held', cap: 500 })
  })

  it("never shrinks a client's cap: it names the tokens that fit instead", () => {
    expect(admitAt(stateWith(1000n + 900n), admitOf({ clientCap: 1000 }))).toEqual({
      kind: 'short',
      available: 1900n,
      needed: 2000n,
      tokensCovered: 900,
    })
  })

  it('tells money that running turns hold from money that is not there', () => {
    const ledgerState = stateWith(3000n)
    expect(admitAt(ledgerState, admitOf({ clientCap: 1000 }))).toMatchObject({ kind: 'held' })
    expect(admitAt(ledgerState, admitOf({ clientCap: 1000, requestId: 'req_2' as RequestId }))).toMatchObject({
      kind: 'in-flight',
    })
  })

  it('lets a builder key touch no wallet', () => {
    const ledgerState = stateWith(1_000_000n)
    expect(admitAt(ledgerState, admitOf({ kind: 'builder' }))).toEqual({ kind: 'no-subscription' })
    expect(ledgerState.accounts.get(ACCOUNTS[0]!)?.wallet.held).toBe(0n)
  })

  it('takes nothing from a limit when the money is short, and no money when a limit is', () => {
    const limit: AppliedLimit = {
      scope: 'key',
      kind: 'requests',
      subject: 'key:1:requests',
      limit: 1,
      burst: 1,
      cost: 1,
    }
    const ledgerState = stateWith(2500n)
    expect(admitAt(ledgerState, admitOf({ clientCap: 9999, limits: [limit] })).kind).toBe('short')
    expect(ledgerState.rateLimits.size).toBe(0)
    expect(admitAt(ledgerState, admitOf({ clientCap: 10, limits: [limit] })).kind).toBe('held')
    const held = ledgerState.accounts.get(ACCOUNTS[0]!)?.wallet.held
    expect(
      admitAt(ledgerState, admitOf({ clientCap: 10, limits: [limit], requestId: 'req_2' as RequestId })),
    ).toMatchObject({
      kind: 'limited',
      retryAfterMs: 60_000,
    })
    expect(ledgerState.accounts.get(ACCOUNTS[0]!)?.wallet.held).toBe(held)
  })

  it('checks limits before money: a client over its limit gets that refusal, and not that the wallet is short', () => {
    const limitOf = (kind: AppliedLimit['kind'], cost = 1): AppliedLimit[] => [
      { scope: 'key', kind, subject: `key:1:${kind}`, limit: 1, burst: 1, cost },
    ]
    const ledgerState = stateWith(3000n)
    const running = limitOf('concurrent')
    expect(admitAt(ledgerState, admitOf({ clientCap: 1000, limits: running })).kind).toBe('held')
    const again = (limits: AppliedLimit[]) =>
      admitAt(ledgerState, admitOf({ clientCap: 1000, limits, requestId: 'req_2' as RequestId }))
    expect(again([])).toMatchObject({ kind: 'in-flight' })
    expect(again(running)).toMatchObject({ kind: 'limited', limit: { kind: 'concurrent' } })
    expect(again(limitOf('tokens', 2))).toMatchObject({ kind: 'limit-too-small' })
    expect(again(limitOf('requests'))).toMatchObject({ kind: 'in-flight' })
    expect([ledgerState.rateLimits.size, ledgerState.running.get('key:1:concurrent')]).toEqual([0, 1])
  })
})

describe('closeTurn', () => {
  it('charges at most the hold and writes the rest down as shortfall', () => {
    const ledgerState = stateWith(10_000n)
    admitAt(ledgerState, admitOf({ clientCap: 1000 }))
    expect(closeTurn(ledgerState, closeOf('req_1', endingOf(2500n)))).toMatchObject({
      kind: 'closed',
      charge: 2000n,
      shortfall: 500n,
    })
    expect(ledgerState.accounts.get(ACCOUNTS[0]!)?.wallet).toMatchObject({ posted: 8000n, held: 0n })
  })

  it('a cost of zero is zero, and a release costs nothing: neither is taken for absent', () => {
    for (const cost of [0n, undefined]) {
      const ledgerState = stateWith(10_000n)
      admitAt(ledgerState, admitOf({ clientCap: 1000 }))
      expect(closeTurn(ledgerState, closeOf('req_1', endingOf(cost)))).toMatchObject({
        kind: 'closed',
        charge: 0n,
        shortfall: 0n,
      })
      expect(ledgerState.accounts.get(ACCOUNTS[0]!)?.wallet).toMatchObject({ posted: 10_000n, held: 0n })
    }
  })

  it('a second close of the same hold changes nothing', () => {
    const ledgerState = stateWith(10_000n)
    admitAt(ledgerState, admitOf({ clientCap: 1000 }))
    closeTurn(ledgerState, closeOf('req_1', endingOf(5n)))
    expect(closeTurn(ledgerState, closeOf('req_1', endingOf(5n)))).toEqual({ kind: 'not-open' })
    expect(ledgerState.accounts.get(ACCOUNTS[0]!)?.wallet.posted).toBe(9995n)
  })
})

it('a broken rule ends what finds it, before anything has moved', () => {
  const ledgerState = stateWith(1_000_000n)
  admitAt(ledgerState, admitOf())
  const { wallet } = accountStateOf(ledgerState, ACCOUNTS[0]!)
  wallet.held -= 1n
  const before = structuredClone(ledgerState)
  expect(() => closeTurn(ledgerState, closeOf('req_1', endingOf(5n)))).toThrow(/a hold ends where it was placed/)
  expect(ledgerState).toEqual(before)
  wallet.held += 1n
  expect(() => closeTurn(ledgerState, closeOf('req_1', endingOf(-5n)))).toThrow(/a charge is within its hold/)
  expect(closeTurn(ledgerState, closeOf('req_1', endingOf(5n)))).toMatchObject({ kind: 'closed', charge: 5n })
})
