import { openContent } from '../db/content/open-content.ts'
import { openDatabase } from '../db/open-database.ts'
import { OUTAGE_GRACE_MS } from '../ledger/core.ts'
import { READ_BACK_PAUSE_MS } from '../ledger/recovery.ts'
import { type ResolveHost, resolveHost } from '../providers/address-guard.ts'
import { STALL_MS } from '../server/services.ts'

/** What a house reaches the machine through, and how patient it is where no configuration says so. */
export interface Overrides {
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
export const DEFAULTS: Overrides = {
  openDatabase,
  openContent,
  resolveHost,
  outageGraceMs: OUTAGE_GRACE_MS,
  readBackPauseMs: READ_BACK_PAUSE_MS,
  stallMs: STALL_MS,
}
