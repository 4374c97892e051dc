import type { Fields } from '../../lib/is-object.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { CompactedSize } from '../carrier.ts'
import type { MintIds } from '../mint-ids.ts'
import { framedSummary } from '../summary.ts'
import { keptItems } from './kept-items.ts'
import type { Sealing } from './sealing.ts'

/** What stands in the place of a conversation from now on. */
export interface CompactedOutput {
  /** All of it: the sealed item, which is the last, and at the endpoint what stays beside it. */
  readonly items: readonly [...Fields[], Fields]
  readonly size: CompactedSize
}

export interface CompactionMeans extends Pick<Sealing, 'sealCompaction'> {
  readonly turn: ResponsesRequest
  readonly mint: MintIds
}

export function compactedOutput(
  { turn, mint, sealCompaction }: CompactionMeans,
  compacted: Compacted,
): CompactedOutput {
  const kept = turn.compacts === 'at-endpoint' ? keptItems(turn, mint) : []
  const item = { id: mint.itemId('cmp'), type: 'compaction', encrypted_content: sealCompaction(compacted) }
  const keptBytes = kept.reduce((sum, message) => sum + Buffer.byteLength(JSON.stringify(message.content)), 0)
  const summaryBytes = compacted.kind === 'summary' ? Buffer.byteLength(framedSummary(compacted.text)) : 0
  return {
    items: [...kept, item],
    size: { bytes: keptBytes + summaryBytes, hasSealed: compacted.kind === 'native' },
  }
}
