import { beforeEach, describe, expect, it } from 'vitest'
import { changesOf, closeOf, endingOf, HOUR_MS, stateWith, turnsOn } from '../../../test/fixtures/ledger/state/state.ts'
import type { LedgerState } from './state.ts'
import { closeTurn } from './turns.ts'

const claim = { scope: 'key 1, /v1/chat/completions, order-7', fingerprint: 'body 1', expiresAt: 24 * HOUR_MS }

let ledgerState: LedgerState
let turns: ReturnType<typeof turnsOn>

beforeEach(() => {
  ledgerState = stateWith(100_000n)
  ledgerState.claims.set(claim.scope, undefined)
  turns = turnsOn(ledgerState, { claim })
})

describe('an idempotency key', () => {
  it('is taken in the step of the hold', () => {
    expect(changesOf(turns.hold('a', 100, 5)).at(-1)).toEqual({ kind: 'claim-opened', receipt: 1, at: 5, ...claim })
  })

  it('is not taken by a request that is refused', () => {
    expect(turns.hold('a', 4_000_000, 5, { modelCap: 4_000_000 }).kind).toBe('short')
    expect(ledgerState.claims.get(claim.scope)).toBeUndefined()
    expect(turns.hold('b', 100, 5).kind).toBe('held')
  })

  it('has one turn while that runs, however long it takes', () => {
    turns.hold('a', 100, 0)
    const other = { claim: { ...claim, fingerprint: 'body 2' } }
    const running = { kind: 'claimed', claim: { state: 'running', requestId: 'a', fingerprint: 'body 1' } }
    expect(turns.hold('b', 100, 1)).toMatchObject(running)
    expect(turns.hold('b', 100, 25 * HOUR_MS, other)).toMatchObject(running)
    expect(ledgerState.turns.size).toBe(1)
  })

  it.each([
    ['kept', true],
    ['not-kept', false],
  ] as const)('whose turn was charged is %s until its time is over', (state, kept) => {
    turns.hold('a', 100, 0)
    const closed = closeTurn(ledgerState, closeOf('a', endingOf(10n, { kept })))
    expect(changesOf(closed).at(-1)).toMatchObject({ kind: 'claim-ended', receipt: 1, scope: claim.scope, state })
    expect(turns.hold('b', 100, claim.expiresAt - 1)).toMatchObject({ kind: 'claimed', claim: { state, receipt: 1 } })
    expect(turns.hold('b', 100, claim.expiresAt).kind).toBe('held')
  })

  it('whose turn was released is free for another try', () => {
    turns.hold('a', 100, 0)
    expect(changesOf(turns.release('a', 1)).at(-1)).toMatchObject({ kind: 'claim-ended', state: 'dropped' })
    expect(turns.hold('b', 100, 1)).toMatchObject({ kind: 'held', receipt: 2 })
    expect(changesOf(turns.settle('b', 5n, 2)).at(-1)).toMatchObject({ receipt: 2, state: 'not-kept' })
  })

  it('whose turn was charged nothing at all is not run again: it had its answer', () => {
    turns.hold('a', 100, 0)
    turns.settle('a', 0n, 1)
    expect(turns.hold('b', 100, 2)).toMatchObject({ kind: 'claimed', claim: { state: 'not-kept' } })
  })

  it('is answered before anything else is looked at: money, limits, and frozen accounts', () => {
    turns.hold('a', 100, 0)
    ledgerState.accounts.get(1 as never)!.frozen = true
    expect(turns.hold('b', 4_000_000, 0).kind).toBe('claimed')
    expect(turns.hold('b', 100, 0, { claim: undefined })).toEqual({ kind: 'frozen' })
  })

  it('that was not looked up is an error of the caller', () => {
    ledgerState.claims.clear()
    expect(() => turns.hold('a', 100, 0)).toThrow('was not looked up')
  })

  it('does not keep another one from being taken', () => {
    const other = { ...claim, scope: 'key 2, /v1/chat/completions, order-7' }
    ledgerState.claims.set(other.scope, undefined)
    turns.hold('a', 100, 0)
    expect(turns.hold('b', 100, 0, { claim: other }).kind).toBe('held')
  })
})
