import type { Batcher } from './batcher.ts'

/** Collects the progress of running streams, and passes all of it to the batcher once per interval. */
export interface MarkKeeper {
  set(receipt: number, deliveredTokens: number): void
  /** The newest known progress of a receipt; undefined when it has no mark. */
  get(receipt: number): number | undefined
  forget(receipt: number): void
  /** Takes over recorded marks of open receipts, where memory has no newer ones, and drops the marks of all others. */
  restore(recorded: ReadonlyMap<number, number>, open: ReadonlySet<number>): void
  stop(): void
}

/** SQLite is one process, so it is one node. */
const NODE = 1

export function createMarkKeeper(
  batcher: Pick<Batcher, 'mark'>,
  gate: { readonly open: boolean },
  { now, intervalMs }: { now(): number; readonly intervalMs: number },
): MarkKeeper {
  const delivered = new Map<number, number>()
  let changed = false
  const timer = setInterval(() => {
    // Behind a shut gate marks wait until the state has been read back.
    if (!changed || !gate.open) return
    changed = false
    // The last record holds only marks of closed receipts, which are never read.
    if (delivered.size === 0) return
    batcher.mark({ node: NODE, at: now(), packed: packMarks(delivered) })
  }, intervalMs)
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
 * The progress of each running stream, packed into one row per node. After a crash this is all that is known of an answer
 * that was being delivered, so it is made durable every interval (R2).
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
