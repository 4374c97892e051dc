import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../../test/fixtures/catalog/catalog.ts'
import type { DisconnectPolicy, Model } from '../catalog/catalog.ts'
import type { InputUsage, Usage } from '../model/price.ts'
import { LaneEstimator } from '../pricing/lane-estimators.ts'
import { priceUsage } from '../pricing/price.ts'
import { type AttemptResult, NOTHING_PRODUCED, type Produced, type ProviderRun } from './attempt.ts'
import type { AbortReason } from './cancellation.ts'
import { decideOwed, estimateUsage } from './ending.ts'

const model: Model = catalogOf(modelDefinition('small', { contextTokens: 1000 })).entries.get('small')!.model

const price = model.price!

const bounds = {
  model,
  estimator: new LaneEstimator(),
  bytesPerToken: 4,
  price,
  inputBound: 172,
  inputEstimate: 20,
  cachedEstimate: 0,
  outputBound: 100,
  headSent: true,
} as const

const finishedWith = (uncachedInput: number, output = 5) => {
  const usage: Usage = { uncachedInput, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 }
  const answer = { unsent: Buffer.alloc(0), close: () => Buffer.alloc(0) }
  const run = {
    result: { kind: 'finished', answer, used: { usage, outputBytes: 20 }, disconnectedEarly: false },
    lane: undefined,
    attempts: [],
    firstContentAt: 0,
  } as const
  return decideOwed(run, bounds)
}

describe('the end of a whole answer', () => {
  it.each([172, 339, 1001, 10_000_000])(
    'costs the input that the provider counted, whatever its bound (%i)',
    (count) => {
      const usage = { uncachedInput: count, output: 5, estimated: false }
      const { owed } = finishedWith(count)
      expect(owed?.usage).toMatchObject(usage)
      expect(owed?.cost).toBe(priceUsage(price, owed!.usage).cost)
    },
  )

  it('is cut to its bound, and flagged, where no model can have read what was counted', () => {
    expect(finishedWith(10_000_001)).toMatchObject({ owed: { usage: { uncachedInput: 172, estimated: true } } })
    expect(finishedWith(10, 101)).toMatchObject({ owed: { usage: { output: 100, estimated: true } } })
  })
})

describe('an answer that broke off without counts', () => {
  const brokenOff = (cachedEstimate: number, inputCounted?: InputUsage) => {
    const problem = { code: 'upstream_error', message: '', param: null, source: 'upstream' } as const
    const run = {
      result: { kind: 'broken-off', problem, used: { usage: undefined, inputCounted, outputBytes: 20 } },
      lane: undefined,
      attempts: [],
      firstContentAt: 0,
    } as const
    return decideOwed(run, { ...bounds, cachedEstimate })
  }

  it('is charged the input that its provider had counted before it began to speak', () => {
    const counted = { uncachedInput: 3, cachedInput: 40, cacheWrite: 90 }
    expect(brokenOff(7, counted)).toMatchObject({ owed: { usage: { ...counted, output: 5, estimated: true } } })
    const beyond = { uncachedInput: 1000, cachedInput: 0, cacheWrite: 0 }
    expect(brokenOff(7, beyond)).toMatchObject({ owed: { usage: { uncachedInput: 1000, output: 5 } } })
    const absurd = { uncachedInput: 5e9, cachedInput: 0, cacheWrite: 0 }
    expect(brokenOff(7, absurd)).toMatchObject({ owed: { usage: { uncachedInput: 172, output: 5 } } })
  })

  it('is charged by its bytes, the part that the provider had just seen as cached input', () => {
    const usageOf = (cachedEstimate: number) => brokenOff(cachedEstimate).owed?.usage
    expect(usageOf(0)).toMatchObject({ uncachedInput: 20, cachedInput: 0, output: 5, estimated: true })
    expect(usageOf(15)).toMatchObject({ uncachedInput: 5, cachedInput: 15, output: 5, estimated: true })
    expect(usageOf(99), 'never more than there was').toMatchObject({ uncachedInput: 0, cachedInput: 20 })
  })
})

describe('an answer whose only usage was told before its words', () => {
  const answer = { unsent: Buffer.alloc(0), close: () => Buffer.alloc(0) }
  const problem = { code: 'upstream_error', message: '', param: null, source: 'upstream' } as const
  const counts = (uncachedInput: number, output: number, cachedInput = 0): Usage => ({
    ...{ uncachedInput, cachedInput, cacheWrite: 0, output, reasoning: 0 },
  })
  const endings = {
    completed: (used) => ({ kind: 'finished', answer, used, disconnectedEarly: false }),
    'broken off': (used) => ({ kind: 'broken-off', problem, used }),
    'hung up': (used) => ({ kind: 'stopped', reason: 'client-gone', accepted: true, used }),
  } satisfies Record<string, (used: Produced) => AttemptResult>

  describe.each(Object.entries(endings))('%s', (_, resultOf) => {
    const charged = (usageSoFar: Usage) => {
      const result = resultOf({ usage: undefined, usageSoFar, outputBytes: 200 })
      return decideOwed({ result, lane: undefined, attempts: [], firstContentAt: 0 }, bounds)
    }

    it('is charged its output, and its input by the count that was told', () => {
      const usage = { ...counts(12, 50, 8), estimated: true }
      expect(charged(counts(12, 0, 8))).toMatchObject({ owed: { usage } })
    })

    it('is charged what was told where that is more than the estimate', () => {
      expect(charged(counts(12, 70))).toMatchObject({ owed: { usage: { output: 70, estimated: true } } })
    })

    it('is charged the estimate of its input where the count of it is zero', () => {
      expect(charged(counts(0, 0))).toMatchObject({ owed: { usage: { uncachedInput: 20, output: 50 } } })
    })

    it('is never charged beyond what the hold covers', () => {
      expect(charged(counts(12, 9000))).toMatchObject({ owed: { usage: { output: 100 } } })
    })
  })
})

it('counts that contradict their total are charged as told, and flagged', () => {
  const usage: Usage = { uncachedInput: 9, cachedInput: 0, cacheWrite: 0, output: 5, reasoning: 0, doubtful: true }
  const answer = { unsent: Buffer.alloc(0), close: () => Buffer.alloc(0) }
  const result: AttemptResult = { kind: 'finished', answer, used: { usage, outputBytes: 20 }, disconnectedEarly: false }
  const { owed } = decideOwed({ result, lane: undefined, attempts: [], firstContentAt: 0 }, bounds)
  expect(owed?.usage).toEqual({ ...usage, doubtful: undefined, estimated: true })
})

describe('a client that went before its answer was whole', () => {
  const usage: Usage = { uncachedInput: 30, cachedInput: 0, cacheWrite: 0, output: 40, reasoning: 33 }
  const produced = { usage: undefined, outputBytes: 20 }
  const answer = { unsent: Buffer.alloc(0), close: () => Buffer.alloc(0) }

  const ended = (result: AttemptResult, disconnectPolicy: DisconnectPolicy, headSent = true) => {
    const lane = { ...model.lanes[0]!, upstream: { ...model.lanes[0]!.upstream, disconnectPolicy } }
    const run: ProviderRun = { result, lane, attempts: [], firstContentAt: 0 }
    return decideOwed(run, { ...bounds, headSent })
  }
  const stopped = (reason: AbortReason, accepted: boolean): AttemptResult => ({
    kind: 'stopped',
    reason,
    accepted,
    used: accepted ? produced : NOTHING_PRODUCED,
  })
  const read = (disconnectedEarly: boolean): AttemptResult => ({
    kind: 'finished',
    answer,
    used: { usage, outputBytes: 20 },
    disconnectedEarly,
  })

  it.each(['cancel_estimate', 'drain'] as const)('pays what was produced (%s)', (policy) => {
    const estimate = { uncachedInput: 20, output: 5, estimated: true }
    for (const headSent of [true, false])
      expect(ended(stopped('client-gone', true), policy, headSent)).toMatchObject({
        outcome: 'client_gone',
        owed: { usage: estimate },
      })
  })

  it('pays what the provider counted when it was read on', () => {
    expect(ended(read(true), 'drain')).toMatchObject({
      outcome: 'client_gone',
      owed: { usage: { ...usage, estimated: false } },
    })
  })

  it('pays nothing where the operator pays', () => {
    const free = { outcome: 'client_gone', owed: undefined }
    expect(ended(stopped('client-gone', true), 'cancel_free')).toEqual(free)
    expect(ended(read(true), 'cancel_free')).toEqual(free)
  })

  it.each(['cancel_estimate', 'drain', 'cancel_free'] as const)(
    'pays nothing before the provider has accepted, and all of it once it was whole (%s)',
    (policy) => {
      expect(ended(stopped('client-gone', false), policy)).toEqual({ outcome: 'client_gone', owed: undefined })
      expect(ended(read(false), policy)).toMatchObject({ outcome: 'completed', owed: {} })
    },
  )

  it('is not meant by the end of the server, whatever the operator says of clients', () => {
    for (const [reason, outcome] of [
      ['draining', 'drained'],
      ['ledger-gone', 'ledger_unavailable'],
    ] as const) {
      expect(ended(stopped(reason, true), 'cancel_free')).toMatchObject({ outcome, owed: {} })
      expect(ended(stopped(reason, true), 'cancel_free', false)).toEqual({ outcome, owed: undefined })
    }
  })
})

it('an estimate counts the input by its bytes and the output by what was produced, within the bounds', () => {
  const estimate = estimateUsage({ usage: undefined, outputBytes: 40 }, bounds)
  expect(estimate).toEqual({
    ...{ uncachedInput: 20, cachedInput: 0, cacheWrite: 0, output: 10, reasoning: 0 },
    estimated: true,
  })
  expect(estimateUsage({ usage: undefined, outputBytes: 4000 }, bounds).output).toBe(100)
})
