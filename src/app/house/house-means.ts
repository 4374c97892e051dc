import { openContent } from '../../content/open-content.ts'
import { STALL_MS } from '../../http/edge-options.ts'
import { OUTAGE_GRACE_MS } from '../../ledger/gate.ts'
import { READ_BACK_PAUSE_MS } from '../../ledger/read-back.ts'
import { openDatabase } from '../../store/open-database.ts'
import type { ResolveHost } from '../../upstream/guarded-connector.ts'
import { resolveHost } from '../../upstream/guarded-connector.ts'

/** What a house reaches the machine through, and how patient it is where no configuration says so. */
export interface HouseMeans {
  readonly openDatabase: typeof openDatabase
  readonly openContent: typeof openContent
  readonly resolveHost: ResolveHost
  /** Running answers go on for so long while the books cannot be written. */
  readonly outageGraceMs: number
  /** So long after books that could not be written are asked for the first time whether they can be again. */
  readonly readBackPauseMs: number
  /** A client that takes nothing for so long is treated as gone. */
  readonly stallMs: number
}

/** Those of every house that is not handed others. */
export const OUR_MEANS: HouseMeans = {
  openDatabase,
  openContent,
  resolveHost,
  outageGraceMs: OUTAGE_GRACE_MS,
  readBackPauseMs: READ_BACK_PAUSE_MS,
  stallMs: STALL_MS,
}
