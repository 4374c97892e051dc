import type { Batcher } from './batcher.ts'
import { packMarks } from './marks.ts'

/** Collects how far running streams have got, and hands the whole of it to the batcher once an interval. */
export interface MarkKeeper {
  set(receipt: number, deliveredTokens: number): void
  /** The durable or newest known progress of a receipt; undefined when nothing was delivered. */
  get(receipt: number): number | undefined
  forget(receipt: number): void
  stop(): void
}

/** SQLite is one process, so it is one node. */
const NODE = 1

export function createMarkKeeper(deps: { batcher: Batcher; now(): number; intervalMs: number }): MarkKeeper {
  const delivered = new Map<number, number>()
  let changed = false
  const timer = setInterval(() => {
    if (!changed) return
    changed = false
    deps.batcher.mark({ node: NODE, at: deps.now(), packed: packMarks(delivered) })
  }, deps.intervalMs)
  timer.unref()
  return {
    set(receipt, deliveredTokens) {
      delivered.set(receipt, deliveredTokens)
      changed = true
    },
    get: (receipt) => delivered.get(receipt),
    forget: (receipt) => void delivered.delete(receipt),
    stop: () => clearInterval(timer),
  }
}
