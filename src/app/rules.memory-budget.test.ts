import { expect, test } from 'vitest'
import { memoryBudget, memoryOfProcess } from './rules.ts'

const MiB = 1024 * 1024
const GiB = 1024 * MiB
const BODY = 32 * MiB

test.each([
  ['a large machine: half of the heap', { heap: 4 * GiB, constrained: 2 ** 64, machine: 64 * GiB }, 2 * GiB],
  ['a container that is smaller than the heap', { heap: 4 * GiB, constrained: GiB, machine: 64 * GiB }, GiB / 2],
  ['no container', { heap: 2 * GiB, constrained: 0, machine: 64 * GiB }, GiB],
  ['a Node that does not know', { heap: 2 * GiB, constrained: undefined, machine: GiB }, GiB / 2],
  ['a heap beyond all reason', { heap: 512 * GiB, constrained: 0, machine: 512 * GiB }, 8 * GiB],
  ['hardly any: one of the largest bodies fits', { heap: 64 * MiB, constrained: 0, machine: GiB }, 5 * BODY + MiB / 4],
])('%s', (_name, bounds, bytes) => {
  expect(memoryBudget(bounds, BODY)).toBe(bytes)
})

test('of this process: something', () => {
  expect(memoryBudget(memoryOfProcess(), BODY)).toBeGreaterThan(BODY)
})
