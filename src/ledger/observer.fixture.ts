import type { LedgerObserver } from './create-core.ts'

/** Of books whose news nobody waits for. */
export const UNOBSERVED: LedgerObserver = {
  batchRecorded: () => {},
  batchFailed: () => {},
  recovered: () => {},
  doesNotAddUp: () => {},
}
