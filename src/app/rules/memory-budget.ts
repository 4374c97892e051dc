import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import { bytesOfLargestTurn } from '../../http/door/load-guard.ts'

/** What bounds the memory of this process, in bytes. */
export interface MemoryBounds {
  /** Of V8: what is parsed lives there. */
  readonly heap: number
  /** Of the container; undefined, zero or absurdly large without one. */
  readonly constrained: number | undefined
  readonly machine: number
}

/** The rest is for the program itself, for what is made of a body while it is read, and for a collector that has room. */
const SHARE = 1 / 2
/** More open streams than one event loop can serve. */
const BYTES_MAX = 8 * 1024 ** 3

/** The memory for turns where the configuration names none. */
export function memoryBudget(bounds: MemoryBounds, bodyBytesMax: number): number {
  const { heap, constrained, machine } = bounds
  const least = Math.min(heap, constrained || Number.POSITIVE_INFINITY, machine)
  const share = Math.min(BYTES_MAX, Math.floor(least * SHARE))
  // However small the process, one of the largest fits.
  return Math.max(share, bytesOfLargestTurn(bodyBytesMax))
}

export const memoryOfProcess = (): MemoryBounds => ({
  heap: getHeapStatistics().heap_size_limit,
  constrained: process.constrainedMemory?.(),
  machine: totalmem(),
})
