import type { ClockStatus } from '../lib/clock.ts'
import type { LogWatch } from '../telemetry/log-watch.ts'
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
      /** Of the certificate of `server.tls`; null without one. */
      readonly certificate_expires_at: string | null
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
      readonly console_requests: number
      /** Files in the data folder that are not used because they are damaged or do not belong to the ledger. */
      readonly set_aside: readonly string[]
      /** Those of a server with several that have answered. */
      readonly workers?: readonly WorkerStatus[]
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

/** One process of a server with several. */
export interface WorkerStatus {
  readonly worker: number
  readonly pid: number
  readonly started_at: string
  readonly ledger_available: boolean
  readonly reload_refused: string | null
  readonly requests_running: number
  readonly requests_served: number
  readonly console_requests: number
}

export interface StatusSources {
  /** Of this process. */
  readonly status: () => ServerStatus
  /** Undefined in a server of one process. */
  readonly listWorkers?: (() => Promise<readonly WorkerStatus[]>) | undefined
  /** Of a process that serves: its metrics in Prometheus text format, and the newest lines of its log. */
  readonly renderMetrics?: () => Promise<string>
  readonly logWatch?: Pick<LogWatch, 'read'>
}

/** The status of this process, with those of the other workers. */
export async function statusOfAll({ status, listWorkers }: StatusSources): Promise<ServerStatus> {
  const own = status()
  if (!own.running || listWorkers === undefined) return own
  // Workers that end without their supervisor know only themselves.
  const workers = await listWorkers().catch(() => undefined)
  if (workers === undefined) return own
  const sum = (count: 'requests_running' | 'requests_served' | 'console_requests') =>
    workers.reduce((all, each) => all + each[count], 0)
  return {
    ...own,
    ledger_available: workers.every((each) => each.ledger_available),
    reload_refused: workers.find((each) => each.reload_refused !== null)?.reload_refused ?? null,
    requests_running: sum('requests_running'),
    requests_served: sum('requests_served'),
    console_requests: sum('console_requests'),
    workers,
  }
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
