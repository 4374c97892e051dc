import type { Compacted } from '../../model/compaction.ts'
import type { Opaque } from '../../model/event.ts'

/** How what only we or a provider can read is put into an envelope of ours, for the client to carry. */
export interface Sealing {
  readonly sealReasoning: (opaque: Opaque) => string
  readonly sealCompaction: (compacted: Compacted) => string
}
