import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { VerifyReport } from '../ledger/ledger.ts'
import { startAuditor, startSweeper } from './jobs.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const reportOf = (violations: number): VerifyReport => ({
  ok: violations === 0,
  violations,
  checks: [{ name: 'posted is the sum of entries', violations }],
  suspects: [],
  accounts: 1,
  receipts: 1,
  transfers: 1,
})

function auditWith(answers: (() => Promise<VerifyReport>)[]) {
  const seen = { violations: [] as number[], errors: [] as string[], told: [] as string[][], audits: 0 }
  const stop = startAuditor(
    {
      ledger: {
        audit: () => answers[seen.audits++]!(),
      },
      metrics: { ledgerAudited: ({ violations }) => void seen.violations.push(violations) },
      log: { error: (_, message) => void seen.errors.push(message) },
      isDue: async () => true,
      onUnproved: async (_, checks) => seen.told.push([...checks]),
    },
    10,
  )
  return { seen, stop }
}

it('counts each audit, and reports what is broken in a ledger that does not balance', async () => {
  const { seen, stop } = auditWith([async () => reportOf(0), async () => reportOf(2)])
  await vi.advanceTimersByTimeAsync(25)
  stop()
  expect(seen.violations).toEqual([0, 2])
  expect(seen.errors).toHaveLength(1)
  expect(seen.told).toEqual([['posted is the sum of entries']])
})

it('a failed audit is reported, and the next one runs', async () => {
  const { seen, stop } = auditWith([() => Promise.reject(new Error('busy')), async () => reportOf(0)])
  await vi.advanceTimersByTimeAsync(25)
  stop()
  expect(seen.errors).toEqual(['the ledger could not be verified; the next audit tries again'])
  expect(seen.violations).toEqual([0])
})

it('a slow one is not overtaken', async () => {
  const { seen, stop } = auditWith([() => new Promise(() => {})])
  await vi.advanceTimersByTimeAsync(55)
  stop()
  expect(seen.audits).toBe(1)
})

it('a sweep that fails is logged, and the next one comes all the same', async () => {
  const errors: object[] = []
  let sweeps = 0
  const sweep = async () => {
    sweeps += 1
    throw new Error('the disk is full')
  }
  const stop = startSweeper({ sweep, what: 'the books', log: { error: (facts) => errors.push(facts) } }, 10)
  await vi.advanceTimersByTimeAsync(25)
  expect([sweeps, errors.length]).toEqual([2, 2])
  stop()
  await vi.advanceTimersByTimeAsync(25)
  expect(sweeps).toBe(2)
})
