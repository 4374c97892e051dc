import { expect, it } from 'vitest'
import { Stopper } from '../lib/async.ts'
import type { AccountRow } from '../model/ids.ts'
import { createRetryWait } from './retry-budget.ts'

const patience = () => createRetryWait({ maxMs: () => 10_000, random: () => 0 })
const LONG_MS = 60_000
const account = (row: number) => row as AccountRow

it('waits for the time, and no longer for a turn that is stopped', async () => {
  const { wait } = patience()
  expect(await wait(1, account(1), new Stopper())).toBe(true)
  const stopper = new Stopper()
  const waiting = wait(LONG_MS, account(1), stopper)
  stopper.stop()
  expect(await waiting).toBe(false)
  expect(await wait(LONG_MS, account(1), stopper)).toBe(false)
})

it('bounds how many wait, in all and of one account, and frees the place of one that is done', async () => {
  const { wait } = patience()
  const stoppers: Stopper[] = []
  const begin = (by: number) => {
    const stopper = new Stopper()
    stoppers.push(stopper)
    return wait(LONG_MS, account(by), stopper)
  }
  const first = Array.from({ length: 64 }, () => begin(1))
  expect(await begin(1)).toBe(false)
  const others = [2, 3, 4].flatMap((by) => Array.from({ length: 64 }, () => begin(by)))
  expect(await begin(5)).toBe(false)
  for (const stopper of stoppers) stopper.stop()
  expect(new Set(await Promise.all([...first, ...others]))).toEqual(new Set([false]))
  expect(await wait(1, account(1), new Stopper())).toBe(true)
})
