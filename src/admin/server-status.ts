import type { ClockStatus } from '../lib/clock.ts'
import { isoTime } from './values.ts'

export type ServerStatus =
  | {
      readonly running: true
      readonly draining: boolean
      readonly version: string
      readonly node: string
      readonly driver: string
      readonly pid: number
      readonly url: string
      /** The public URL of the configuration. */
      readonly public_url: string | null
      readonly data: string
      /** The file, or `none (defaults)`. */
      readonly config: string
      /** Why the last reload was refused, which keeps the earlier configuration; null if it was not. */
      readonly reload_refused: string | null
      readonly started_at: string
      readonly ledger_available: boolean
      readonly clock: ClockView
      readonly models: number
      readonly requests_running: number
      readonly requests_served: number
      /** Files in the data folder that are not used because they are damaged or do not belong to the ledger. */
      readonly set_aside: readonly string[]
    }
  | {
      readonly running: false
      readonly version: string
      readonly node: string
      readonly data: string
      /** Whether the data folder has a ledger, or traces of one. */
      readonly has_ledger?: boolean
      readonly set_aside?: readonly string[]
    }

export type ClockView = ReturnType<typeof clockView>

/** Ledger time beside the wall clock. */
export const clockView = ({ state, ledgerMs, wallMs, followsInMs }: ClockStatus) => ({
  state,
  ledger_time: isoTime(ledgerMs),
  wall_time: isoTime(wallMs),
  /** Negative while a step of the wall clock is not followed. */
  ahead_seconds: Math.round((ledgerMs - wallMs) / 1000),
  follows_in_seconds: followsInMs === undefined ? null : Math.ceil(followsInMs / 1000),
})
