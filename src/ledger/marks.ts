import type { Batcher } from './batcher.ts'
import type { LedgerGate } from './gate.ts'

/** Collects how far running streams have got, and hands the whole of it to the batcher once an interval. */
export interface MarkKeeper {
  set(receipt: number, deliveredTokens: number): void
  /** The durable or newest known progress of a receipt; undefined when none was marked. */
  get(receipt: number): number | undefined
  forget(receipt: number): void
  /**
   * Takes over what was recorded, for the receipts that are open and no others. What memory knows of them is newer, and
   * what memory knows of the rest is of no use any more.
   */
  restore(recorded: ReadonlyMap<number, number>, open: ReadonlySet<number>): void
  stop(): void
}

/** SQLite is one process, so it is one node. */
const NODE = 1

export function createMarkKeeper(deps: {
  readonly batcher: Pick<Batcher, 'mark'>
  readonly gate: Pick<LedgerGate, 'open'>
  readonly now: () => number
  readonly intervalMs: number
}): MarkKeeper {
  const delivered = new Map<number, number>()
  let changed = false
  const timer = setInterval(() => {
    // Behind a shut gate nothing is recorded; it is sent when the books have been read back.
    if (!changed || !deps.gate.open) return
    changed = false
    // What was recorded last speaks of receipts that are closed now, which nobody asks about.
    if (delivered.size === 0) return
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
    restore(recorded, open) {
      for (const receipt of delivered.keys()) if (!open.has(receipt)) delivered.delete(receipt)
      for (const [receipt, tokens] of recorded) {
        if (open.has(receipt) && !delivered.has(receipt)) delivered.set(receipt, tokens)
      }
      changed = delivered.size > 0
    },
    stop: () => clearInterval(timer),
  }
}

const BYTES_PER_MARK = 12

/**
 * How far each running stream has got, packed into one record of the node. After a crash this is all that is known of an
 * answer that was being delivered, so it is made durable every interval (R2).
 */
function packMarks(delivered: ReadonlyMap<number, number>): Uint8Array {
  const packed = Buffer.allocUnsafe(delivered.size * BYTES_PER_MARK)
  let offset = 0
  for (const [receipt, tokens] of delivered) {
    packed.writeDoubleLE(receipt, offset)
    packed.writeUInt32LE(tokens, offset + 8)
    offset += BYTES_PER_MARK
  }
  return packed
}

export function unpackMarks(packed: Uint8Array): Map<number, number> {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const delivered = new Map<number, number>()
  for (let offset = 0; offset + BYTES_PER_MARK <= bytes.length; offset += BYTES_PER_MARK) {
    delivered.set(bytes.readDoubleLE(offset), bytes.readUInt32LE(offset + 8))
  }
  return delivered
}
