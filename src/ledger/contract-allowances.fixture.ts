import { describe, expect, it } from 'vitest'
import { GIVEN_BACK, settlement } from '../model/ending.fixture.ts'
import { type ContractBench, DAY, dayCap, HOLD, HOUR, hours, limitOf, usd, weekly } from './contract-bench.fixture.ts'

/** The contract of every ledger, second half: limits, windows, spend caps and plans. */
export function allowancesContract(bench: ContractBench): void {
  const { home } = bench

  describe('limits', () => {
    it('let a burst through, say when there is room again, and keep their word', async () => {
      await bench.credit(HOLD * 100n)
      const limits = [limitOf('requests', 3)]
      for (let count = 0; count < 3; count++) await bench.admit({ limits })
      const refusal = await bench.refusal({ limits })
      expect(refusal).toMatchObject({ kind: 'limited', limit: limits[0] })
      const { retryAfterMs } = refusal as { retryAfterMs: number }
      expect(retryAfterMs).toBeGreaterThan(0)
      expect(retryAfterMs).toBeLessThanOrEqual(20_000)
      await home.advance(Math.ceil(retryAfterMs))
      await bench.admit({ limits })
    })

    it('take from all of them or from none', async () => {
      await bench.credit(HOLD * 100n)
      const requests = limitOf('requests', 5)
      const running = limitOf('concurrent', 1)
      const turn = await bench.admit({ limits: [requests, running] })
      expect(await bench.refusal({ limits: [requests, running] })).toMatchObject({ kind: 'limited', limit: running })
      expect(await bench.refusal({ limits: [requests, limitOf('tokens', 10, 11)] })).toMatchObject({
        kind: 'limit-too-small',
      })
      expect(await bench.refusal({ limits: [requests], clientCap: 1_000_000 })).toMatchObject({ kind: 'short' })
      expect(bench.ledger.limitStatuses([requests])).toMatchObject([{ kind: 'requests', limit: 5, remaining: 4 }])
      await turn.settle(GIVEN_BACK)
      await bench.admit({ limits: [requests, running] })
    })

    it('of tokens are corrected to what was used', async () => {
      await bench.credit(HOLD * 100n)
      const limits = [limitOf('tokens', 1000, 900)]
      const turn = await bench.admit({ limits })
      expect(turn.statuses).toMatchObject([{ remaining: 100 }])
      expect(await bench.refusal({ limits })).toMatchObject({ kind: 'limited' })
      await turn.settle(settlement(1n, 40))
      expect((await bench.admit({ limits })).statuses[0]?.remaining).toBeLessThan(100)
    })

    it('of turns at once count those of all that run, and get the places of dead ones back', async () => {
      await bench.credit(HOLD * 100n)
      const limits = [limitOf('concurrent', 4)]
      const asked = await Promise.all(Array.from({ length: 12 }, () => bench.ask({ limits })))
      expect(asked.filter(({ kind }) => kind === 'admitted')).toHaveLength(4)
      await home.crash()
      await bench.admit({ limits })
    })
  })

  describe('a builder key', () => {
    const builder = { kind: 'builder' as const }

    it('needs a plan that runs', async () => {
      const allowances = [hours(5, HOLD)]
      expect(await bench.refusal({ ...builder, allowances })).toEqual({ kind: 'no-subscription' })
      await bench.subscribe(...allowances)
      expect(await bench.refusal({ ...builder, allowances: [dayCap(HOLD)] })).toEqual({ kind: 'no-subscription' })
      const turn = await bench.admit({ ...builder, allowances })
      await bench.ledger.endPlan({ account: home.account })
      expect(await bench.refusal({ ...builder, allowances })).toEqual({ kind: 'no-subscription' })
      expect(await bench.ledger.endPlan({ account: home.account })).toEqual({ kind: 'no-subscription' })
      await turn.settle(settlement(1n))
    })

    it('never touches the wallet', async () => {
      await bench.credit(HOLD * 10n)
      const allowances = [hours(5, HOLD * 2n), weekly(HOLD * 3n)]
      await bench.subscribe(...allowances)
      const turn = await bench.admit({ ...builder, allowances })
      expect(await bench.left(...allowances)).toEqual([HOLD, HOLD * 2n])
      await turn.settle(settlement(20_000n))
      expect(await bench.left(...allowances)).toEqual([HOLD * 2n - 20_000n, HOLD * 3n - 20_000n])
      expect(await bench.standing()).toEqual({ balance: HOLD * 10n, held: 0n, available: HOLD * 10n })
    })

    it('holds in all windows or in none', async () => {
      const allowances = [hours(5, HOLD * 5n), weekly(HOLD + 5n)]
      await bench.subscribe(...allowances)
      const turn = await bench.admit({ ...builder, allowances })
      const refusal = await bench.refusal({ ...builder, allowances })
      expect(refusal).toMatchObject({ kind: 'in-flight', available: 5n, of: allowances[1] })
      expect(await bench.left(...allowances)).toEqual([HOLD * 4n, 5n])
      await turn.settle(settlement(HOLD))
      const exhausted = { kind: 'exhausted', allowance: allowances[1], limit: HOLD + 5n, used: HOLD }
      expect(await bench.refusal({ ...builder, allowances })).toMatchObject(exhausted)
    })

    it('is told when the last of the windows that are used up ends, and that a turn is larger than a window', async () => {
      const allowances = [hours(5, HOLD), hours(2, HOLD)]
      await bench.subscribe(...allowances)
      await (await bench.admit({ ...builder, allowances })).settle(settlement(HOLD))
      const refusal = await bench.refusal({ ...builder, allowances })
      expect(refusal).toMatchObject({ kind: 'exhausted', allowance: allowances[0] })
      const { resetsAt, resetsInMs } = refusal as { resetsAt: number; resetsInMs: number }
      expect(resetsAt - resetsInMs).toBeLessThanOrEqual(await home.now())
      expect(resetsInMs).toBeLessThanOrEqual(5 * HOUR)
      expect(await bench.refusal({ ...builder, allowances, clientCap: 101 })).toMatchObject({
        kind: 'exceeds-allowance',
        allowance: allowances[0],
      })
      await home.advance(5 * HOUR)
      await bench.admit({ ...builder, allowances })
    })

    it('settles in the window it held in, also after the next one has begun', async () => {
      const allowances = [hours(5, HOLD * 3n)]
      await bench.subscribe(...allowances)
      const turn = await bench.admit({ ...builder, allowances })
      await home.advance(5 * HOUR)
      const next = await bench.admit({ ...builder, allowances })
      await turn.settle(settlement(HOLD))
      expect(await bench.left(...allowances)).toEqual([HOLD * 2n])
      await next.settle(settlement(1n))
      expect(await bench.left(...allowances)).toEqual([HOLD * 3n - 1n])
    })

    it('opens no window with a request that is refused, and begins an unused one anew', async () => {
      const allowances = [hours(5, HOLD)]
      await bench.subscribe(...allowances)
      await bench.refusal({ ...builder, allowances, clientCap: 101 })
      const turn = await bench.admit({ ...builder, allowances })
      await turn.settle(GIVEN_BACK)
      await home.advance(3 * HOUR)
      await (await bench.admit({ ...builder, allowances })).settle(settlement(HOLD))
      await home.advance(3 * HOUR)
      expect(await bench.refusal({ ...builder, allowances })).toMatchObject({ kind: 'exhausted' })
    })

    it('has more at once when its plan grows, and less from the next window on', async () => {
      const small = [hours(5, HOLD * 2n)]
      await bench.subscribe(...small)
      await (await bench.admit({ ...builder, allowances: small })).settle(settlement(HOLD))
      const large = [hours(5, HOLD * 5n)]
      const order = { account: home.account, endsAt: undefined }
      const grown = await bench.ledger.assignPlan({ ...order, plan: 'large', windows: large })
      expect(grown).toMatchObject({ kind: 'changed', subscription: { plan: 'large' } })
      expect(await bench.left(...large)).toEqual([HOLD * 4n])
      expect((await bench.ledger.assignPlan({ ...order, plan: 'large', windows: large })).kind).toBe('unchanged')
      await bench.ledger.assignPlan({ ...order, plan: 'small', windows: small })
      expect(await bench.left(...small)).toEqual([HOLD * 4n])
      await home.advance(5 * HOUR)
      expect(await bench.left(...small)).toEqual([HOLD * 2n])
      await bench.admit({ ...builder, allowances: small })
      expect(await bench.left(...small)).toEqual([HOLD])
    })
  })

  describe('a spend cap', () => {
    it('bounds what a wallet key spends in a day, and its change counts at once', async () => {
      await bench.credit(HOLD * 10n)
      const allowances = [dayCap(HOLD + 10n)]
      await (await bench.admit({ allowances })).settle(settlement(HOLD))
      expect(await bench.refusal({ allowances })).toMatchObject({
        kind: 'cap-reached',
        allowance: allowances[0],
        limit: HOLD + 10n,
        used: HOLD,
      })
      expect(await bench.refusal({ allowances: [dayCap(HOLD - 10n)] })).toMatchObject({ used: HOLD, limit: HOLD - 10n })
      const turn = await bench.admit({ allowances: [dayCap(HOLD * 2n)] })
      expect(await bench.standing()).toEqual({ balance: HOLD * 9n, held: HOLD, available: HOLD * 8n })
      await turn.settle(settlement(1n))
      await home.advance(DAY)
      await bench.admit({ allowances })
    })

    it('that was lowered below what was used still lets through what costs nothing', async () => {
      await bench.credit(HOLD * 10n)
      await (await bench.admit({ allowances: [dayCap(HOLD)] })).settle(settlement(HOLD))
      const terms = { inputPico: 0n, outputPicoPerToken: 0n, perRequest: usd(0n) }
      const free = await bench.admit({ terms, allowances: [dayCap(HOLD - 10n)] })
      expect(free.amount).toBe(0n)
      expect(await free.settle(settlement(5n))).toMatchObject({ charge: 0n, shortfall: 5n })
    })

    it('says in flight when it is only held, and short when the wallet is empty as well', async () => {
      await bench.credit(HOLD * 2n)
      const allowances = [dayCap(HOLD)]
      await bench.admit({ allowances })
      expect(await bench.refusal({ allowances })).toMatchObject({ kind: 'in-flight', of: allowances[0] })
      const bound = { kind: 'refund' as const, amount: usd(-HOLD), reason: 'test', ref: 'back' }
      await bench.ledger.credit({ account: home.account, ...bound })
      expect(await bench.refusal({ allowances, clientCap: 1000 })).toMatchObject({ kind: 'short' })
    })
  })

  describe('a plan', () => {
    it('keeps its day of billing while it goes on, and its end can be moved', async () => {
      const first = await bench.subscribe(hours(5, HOLD))
      if (first.kind === 'no-subscription') throw new Error('no subscription')
      const { billingDay } = first.subscription
      expect(billingDay).toBe(new Date(await home.now()).getUTCDate())
      await home.advance(3 * DAY)
      const order = { account: home.account, windows: [hours(5, HOLD)] }
      const endsAt = (await home.now()) + DAY
      const next = await bench.ledger.assignPlan({ ...order, plan: 'other', endsAt })
      expect(next).toMatchObject({ kind: 'changed', subscription: { plan: 'other', billingDay, endsAt } })
      expect(await bench.ledger.endPlan({ account: home.account, endsAt: endsAt + DAY })).toMatchObject({
        kind: 'changed',
        subscription: { endsAt: endsAt + DAY },
      })
      await home.crash()
      await home.advance(DAY)
      const { subscription } = await bench.ledger.allowanceStatuses(home.account, [])
      expect(subscription).toMatchObject({ plan: 'other', billingDay, endsAt: endsAt + DAY })
      await home.advance(DAY)
      expect((await bench.ledger.allowanceStatuses(home.account, [])).subscription).toBeUndefined()
    })
  })
}
