import type { Fields } from '../../lib/is-object.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import type { CompactedSize } from '../carrier.ts'
import type { MintIds } from '../mint-ids.ts'
import { framedSummary } from '../summary.ts'
import type { Envelope } from './envelope.ts'
import { keptItems } from './kept-items.ts'

/** What stands in the place of a conversation from now on. */
export interface CompactedOutput {
  /** All of it: the sealed item, which is the last, and at the endpoint what stays beside it. */
  readonly items: readonly [...Fields[], Fields]
  readonly size: CompactedSize
}

export interface CompactionMeans {
  readonly turn: ResponsesRequest
  readonly mint: MintIds
  readonly sealCompaction: (compacted: Compacted) => string
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

/** The frames that tell of it: one item, without the words that other items grow by. */
export function framesOfCompaction(envelope: Envelope, { items }: CompactedOutput): string {
  return ['response.output_item.added', 'response.output_item.done']
    .map((type) => envelope.frameText(type, { output_index: 0, item: items.at(-1) }))
    .join('')
}

export interface CompactionObject {
  readonly responseId: string
  /** In seconds. */
  readonly createdAt: number
  readonly output: CompactedOutput
  readonly usage: Fields
}

/** The answer of the endpoint. */
export const compactionJson = ({ responseId, createdAt, output, usage }: CompactionObject): string =>
  JSON.stringify({ id: responseId, object: 'response.compaction', created_at: createdAt, output: output.items, usage })
