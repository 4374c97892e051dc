import { describe, expect, it } from 'vitest'
import { GIVEN_BACK, settlement } from '../model/ending.fixture.ts'
import { type ContractBench, DAY, HOLD, HOUR, limitOf, usd } from './contract-bench.fixture.ts'

/** The contract of every ledger, first half: wallets, credits, claims, recovery. */
export function moneyContract(bench: ContractBench): void {
  const { home } = bench

  describe('a turn', () => {
    it('holds, settles once, and gives the rest back', async () => {
      await bench.credit(1_000_000n)
      const turn = await bench.admit()
      expect(turn).toMatchObject({ amount: HOLD, cap: 100 })
      expect(await bench.standing()).toEqual({ balance: 1_000_000n, held: HOLD, available: 1_000_000n - HOLD })
      expect(await turn.durable).toBe('durable')
      const settled = await turn.settle(settlement(20_000n))
      expect(settled).toEqual({ kind: 'settled', charge: 20_000n, shortfall: 0n, tier: 0 })
      expect(await turn.settle(settlement(20_000n))).toEqual({ kind: 'not-ours' })
      expect(await bench.standing()).toEqual({ balance: 980_000n, held: 0n, available: 980_000n })
      expect(await home.receipt(turn.requestId)).toMatchObject({ state: 'settled', charge: 20_000n, output: 2 })
    })

    it('that is released costs nothing, and is not settled after that', async () => {
      await bench.credit(1_000_000n)
      const turn = await bench.admit()
      expect(await turn.settle(GIVEN_BACK)).toEqual({ kind: 'released' })
      expect(await turn.settle(settlement(20_000n))).toEqual({ kind: 'not-ours' })
      expect((await bench.standing()).available).toBe(1_000_000n)
      expect(await home.receipt(turn.requestId)).toMatchObject({ state: 'released', charge: 0n })
    })

    it('that is settled by two at once is charged once', async () => {
      await bench.credit(1_000_000n)
      const turn = await bench.admit()
      await turn.durable
      const both = await Promise.all([turn.settle(settlement(20_000n)), turn.settle(settlement(20_000n))])
      expect(both.map(({ kind }) => kind).sort()).toEqual(['not-ours', 'settled'])
      expect((await bench.standing()).balance).toBe(980_000n)
    })

    it('is never charged more than it holds: the rest is written down as shortfall', async () => {
      await bench.credit(1_000_000n)
      const turn = await bench.admit()
      expect(await turn.settle(settlement(HOLD + 7n))).toMatchObject({ charge: HOLD, shortfall: 7n })
      expect((await bench.standing()).balance).toBe(1_000_000n - HOLD)
      expect(await home.receipt(turn.requestId)).toMatchObject({ charge: HOLD, shortfall: 7n })
    })

    it('that has compacted a conversation says so on its receipt, however it ends, and no other does', async () => {
      await bench.credit(HOLD * 3n)
      const compaction = { tokensBefore: 48_210, tokensAfter: 0 }
      const [charged, released, other] = [await bench.admit(), await bench.admit(), await bench.admit()]
      await Promise.all([
        charged.settle({ ...settlement(20_000n), compaction }),
        released.settle({ ...GIVEN_BACK, compaction }),
        other.settle(settlement(20_000n)),
      ])
      const receipts = await Promise.all([charged, released, other].map(({ requestId }) => home.receipt(requestId)))
      expect(receipts.map((receipt) => receipt?.compaction)).toEqual([compaction, compaction, null])
    })

    it('a hundred at once on a wallet that affords ten: ten are admitted', async () => {
      await bench.credit(HOLD * 10n)
      const admissions = await Promise.all(Array.from({ length: 100 }, () => bench.ask()))
      const admitted = admissions.filter((admission) => admission.kind === 'admitted')
      expect(admitted).toHaveLength(10)
      const refusals = admissions.filter((admission) => admission.kind === 'refused').map(({ refusal }) => refusal.kind)
      expect(new Set(refusals)).toEqual(new Set(['in-flight']))
      await Promise.all(admitted.map((turn) => turn.settle(settlement(HOLD))))
      expect(await bench.standing()).toEqual({ balance: 0n, held: 0n, available: 0n })
    })
  })

  describe('a wallet that does not cover a turn', () => {
    it('is short when the money is not there, and in flight when running turns hold it', async () => {
      await bench.credit(HOLD + 100_000n + 25_000n)
      expect(await bench.refusal({ clientCap: 1000 })).toEqual({
        kind: 'short',
        available: HOLD + 125_000n,
        needed: 5_100_000n,
        tokensCovered: 125,
      })
      await bench.admit()
      expect(await bench.refusal()).toEqual({
        kind: 'in-flight',
        available: 125_000n,
        needed: HOLD,
        tokensCovered: 5,
        of: undefined,
      })
    })

    it('does not say how many tokens it covers when it does not even cover the input', async () => {
      await bench.credit(99_999n)
      expect(await bench.refusal()).toMatchObject({ kind: 'short', tokensCovered: undefined })
    })

    it('gives a turn without a cap of its own what a quarter of it covers, but never less than 1024', async () => {
      const open = { clientCap: undefined, modelCap: 100_000 }
      await bench.credit(100_000n + 4n * 5_000_000n * 4n)
      const first = await bench.admit(open)
      expect(first.cap).toBe(4000)
      expect((await bench.admit(open)).cap).toBe(2995)
      await bench.admit({ clientCap: 6000 })
      expect(await bench.admit({ ...open, modelCap: 500 })).toMatchObject({ cap: 500 })
      await bench.admit({ clientCap: 1500 })
      expect(await bench.refusal(open)).toMatchObject({ kind: 'in-flight', needed: 100_000n + 1024n * 5000n })
    })

    it('rounds a hold up to the nano-dollar, with what a request costs by itself', async () => {
      await bench.credit(1_000_000n)
      const terms = { inputPico: 1n, outputPicoPerToken: 1n, perRequest: usd(11n) }
      expect((await bench.admit({ terms, clientCap: 1000 })).amount).toBe(13n)
    })
  })

  describe('credit', () => {
    it('counts once for each reference, and another amount under it is refused', async () => {
      const both = await Promise.all([bench.credit(500n, 'invoice 1'), bench.credit(500n, 'invoice 1')])
      expect(both.map((outcome) => outcome.kind).sort()).toEqual(['credited', 'exists'])
      expect(await bench.credit(501n, 'invoice 1')).toEqual({ kind: 'ref-taken', amount: 500n })
      await home.crash()
      expect((await bench.credit(500n, 'invoice 1')).kind).toBe('exists')
      expect((await bench.standing()).balance).toBe(500n)
    })

    it('is not taken back beyond what running turns leave', async () => {
      await bench.credit(HOLD + 10n)
      await bench.admit()
      const refund = (amount: bigint, ref: string) =>
        bench.ledger.credit({ account: home.account, kind: 'refund', amount: usd(amount), reason: 'test', ref })
      expect((await refund(-11n, 'a')).kind).toBe('short')
      expect((await refund(-10n, 'b')).kind).toBe('credited')
      expect((await bench.standing()).available).toBe(0n)
    })

    it('beyond what a wallet can hold is refused, and moves nothing', async () => {
      const most = 1_000_000_000n * 1_000_000_000n
      expect((await bench.credit(most)).kind).toBe('credited')
      expect(await bench.credit(1n, 'second')).toEqual({ kind: 'too-much', holder: 'wallet', most })
      expect((await bench.standing()).balance).toBe(most)
    })
  })

  describe('an account whose books do not add up', () => {
    it('admits nobody', async () => {
      await bench.credit(1_000_000n)
      await home.freeze()
      expect(await bench.refusal()).toEqual({ kind: 'frozen' })
    })
  })

  describe('an idempotency key', () => {
    const claimUntil = (expiresAt: number) => ({ scope: 'scope', fingerprint: 'print', expiresAt })

    it('is taken by one of many at once, and the others are told by whom', async () => {
      await bench.credit(HOLD * 10n)
      const claim = claimUntil((await home.now()) + HOUR)
      const asked = await Promise.all(Array.from({ length: 8 }, () => bench.ask({ claim })))
      const admitted = asked.filter(({ kind }) => kind === 'admitted')
      expect(admitted).toHaveLength(1)
      const told = asked.flatMap((each) => (each.kind === 'refused' ? [each.refusal] : []))
      const { requestId } = admitted[0]!
      for (const refusal of told) {
        expect(refusal).toMatchObject({ kind: 'claimed', claim: { requestId, state: 'running', fingerprint: 'print' } })
      }
      expect((await bench.standing()).held).toBe(HOLD)
    })

    it.each([
      { kept: true, state: 'kept' },
      { kept: false, state: 'not-kept' },
    ])('is $state once its request was charged, and free again when its time is over', async ({ kept, state }) => {
      await bench.credit(HOLD * 10n)
      const claim = claimUntil((await home.now()) + HOUR)
      const turn = await bench.admit({ claim })
      await turn.settle({ ...settlement(1n), kept })
      expect(await bench.refusal({ claim })).toMatchObject({ claim: { requestId: turn.requestId, state } })
      const { claim: standing, leave } = await bench.ledger.lookUpClaim('scope')
      leave()
      expect(standing).toMatchObject({ requestId: turn.requestId, state })
      await home.advance(HOUR)
      const later = await bench.admit({ claim: claimUntil((await home.now()) + HOUR) })
      expect(await bench.refusal({ claim })).toMatchObject({ claim: { requestId: later.requestId, state: 'running' } })
    })

    it('is free again at once when its request was released', async () => {
      await bench.credit(HOLD * 10n)
      const claim = claimUntil((await home.now()) + HOUR)
      await (await bench.admit({ claim })).settle(GIVEN_BACK)
      expect((await bench.ask({ claim })).kind).toBe('admitted')
    })

    it('stays taken while its request runs, however long, and is not taken by a refused one', async () => {
      const claim = claimUntil((await home.now()) + HOUR)
      expect(await bench.refusal({ claim })).toMatchObject({ kind: 'short' })
      await bench.credit(HOLD * 10n)
      const turn = await bench.admit({ claim })
      await home.advance(2 * HOUR)
      expect(await bench.refusal({ claim })).toMatchObject({ claim: { requestId: turn.requestId, state: 'running' } })
    })

    it('of a request that died is free again when its hold was given back', async () => {
      await bench.credit(HOLD * 10n)
      const claim = claimUntil((await home.now()) + 100 * DAY)
      await (await bench.admit({ claim })).durable
      await home.crash()
      expect((await bench.ask({ claim })).kind).toBe('admitted')
    })
  })

  describe('an answer that is given again', () => {
    it('counts as one request of every limit that counts them, and for nothing else', async () => {
      await bench.credit(HOLD * 10n)
      const requests = limitOf('requests', 2)
      const limits = [requests, limitOf('tokens', 500, 500), limitOf('concurrent', 1)]
      const taken = await home.ledger.takeRequest(limits)
      expect([taken.kind, taken.statuses.map(({ remaining }) => remaining)]).toEqual(['taken', [1, 500, 1]])
      // Had it taken tokens or a place, this turn would be refused.
      const turn = await bench.admit({ limits })
      const refused = await home.ledger.takeRequest(limits)
      expect(refused).toMatchObject({ kind: 'refused', refusal: { kind: 'limited', limit: requests } })
      await home.advance(60_000)
      expect((await home.ledger.takeRequest(limits)).kind).toBe('taken')
      await turn.settle(GIVEN_BACK)
    })
  })

  describe('tokens that were reserved and not used', () => {
    it.each([
      ['', false],
      [', also when the sweep forgot the limit', true],
    ])('come back when their turn ends, never to before now%s', async (_, sweeps) => {
      await bench.credit(HOLD * 10n)
      const limits = [limitOf('tokens', 1000, 1000)]
      const first = await bench.admit({ limits })
      expect(await bench.refusal({ limits })).toMatchObject({ kind: 'limited' })
      await first.settle(GIVEN_BACK)
      const second = await bench.admit({ limits })
      await home.advance(600_000)
      if (sweeps) await home.ledger.sweep()
      await second.settle(GIVEN_BACK)
      expect((await bench.ask({ limits })).kind).toBe('admitted')
      expect(await bench.refusal({ limits }), 'idle time is not saved up').toMatchObject({ kind: 'limited' })
    })
  })

  describe('the proof of the books', () => {
    it('finds nothing where everything adds up', async () => {
      await bench.credit(HOLD * 3n)
      const [settled, open] = [await bench.admit(), await bench.admit()]
      await settled.settle(settlement(20_000n))
      expect(await home.ledger.audit({ whole: true })).toMatchObject({ ok: true, violations: 0 })
      await open.settle(GIVEN_BACK)
    })
  })

  describe('after a crash', () => {
    it('a hold whose answer had not begun is given back', async () => {
      await bench.credit(1_000_000n)
      const turn = await bench.admit()
      await turn.durable
      await home.crash()
      expect(home.recovered).toBe(1)
      expect((await bench.standing()).available).toBe(1_000_000n)
      expect(await home.receipt(turn.requestId)).toMatchObject({ state: 'released', outcome: 'recovered' })
    })

    it('a hold whose answer was being delivered is charged its input and what the last durable mark says', async () => {
      await bench.credit(1_000_000n)
      const turn = await bench.admit()
      turn.mark(7)
      await home.untilMarked()
      await home.crash()
      const charge = 40n * 1000n + 7n * 5000n
      expect(await home.receipt(turn.requestId)).toMatchObject({ state: 'settled', charge, output: 7, estimated: true })
      expect((await bench.standing()).balance).toBe(1_000_000n - charge)
    })

    it('no more output is charged than the cap allowed, of all answers together', async () => {
      await bench.credit(10_000_000n)
      const terms = { inputPico: 100_000_000n, outputPicoPerToken: 3n * 5_000_000n, perRequest: usd(0n) }
      const turns = [await bench.admit({ choices: 3, terms }), await bench.admit({ choices: 3, terms })]
      turns[0]?.mark(250)
      turns[1]?.mark(5000)
      await home.untilMarked()
      await home.crash()
      const receipts = await Promise.all(turns.map((turn) => home.receipt(turn.requestId)))
      expect(receipts).toMatchObject([
        { output: 250, shortfall: 0n },
        { output: 300, shortfall: 0n },
      ])
    })
  })

  describe('the sweeper', () => {
    it('takes a hold whose turn is over, and leaves one that is attended, whatever its age', async () => {
      await bench.credit(HOLD * 3n)
      const lost = await bench.admit()
      const running = await bench.admit()
      await lost.durable
      lost.leave()
      expect(await bench.ledger.sweep()).toBe(1)
      expect(await home.receipt(lost.requestId)).toMatchObject({ state: 'released', outcome: 'recovered' })
      expect(await home.receipt(running.requestId)).toMatchObject({ state: 'open' })
      expect(await lost.settle(settlement(1n))).toEqual({ kind: 'not-ours' })
      expect(bench.ledger.openHolds).toBe(1)
    })
  })
}
