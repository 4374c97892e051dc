import { Gauge, type Registry } from 'prom-client'
import { METRIC } from './metric-names.ts'

/** How things stand. What is handed in is asked at each scrape, once, however many gauges it is about. */
export interface WatchedMetrics {
  watchOpenHolds(read: () => number): void
  /** The lanes that no request is sent to now. */
  watchLanesAside(read: () => readonly { readonly lane: string; readonly reason: string }[]): void
  watchLoad(read: () => LoadNow): void
  /** Whether the last reload of the configuration was refused. */
  watchReload(isRefused: () => boolean): void
  /** Undefined while there is no row, or none can be read. */
  watchAuditTrail(read: () => Promise<AuditTrailEnd | undefined>): void
}

/** How much of what this process may take on is in use. */
export interface LoadNow {
  readonly running: number
  readonly bytesTaken: number
  readonly bytesMax: number
  readonly waiting: number
  readonly isStrained: boolean
}

/** How long the audit trail is, and the first 48 bits of the hash of its last row: a number is exact up to there. */
export interface AuditTrailEnd {
  readonly rows: number
  readonly head: number
}

/** Sets the gauges that it is about. */
export type GaugeReading = () => void | Promise<void>

/** `atEachScrape`: before anything of it is rendered. */
export function createWatchedMetrics(registry: Registry, atEachScrape: (read: GaugeReading) => void): WatchedMetrics {
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry] })
  return {
    watchOpenHolds(read) {
      const open = gauge(METRIC.holdsOpen, 'Holds that stand on wallets and windows now.')
      atEachScrape(() => open.set(read()))
    },
    watchLanesAside(read) {
      const aside = new Gauge({
        name: METRIC.lanesAside,
        help: 'Lanes that no request is sent to now, and why.',
        labelNames: ['lane', 'reason'],
        registers: [registry],
      })
      atEachScrape(() => {
        aside.reset()
        for (const { lane, reason } of read()) aside.labels(lane, reason).set(1)
      })
    },
    watchReload(isRefused) {
      const refused = gauge(
        METRIC.reloadRefused,
        '1 while the configuration file on disk is refused and an earlier one is in force.',
      )
      atEachScrape(() => refused.set(isRefused() ? 1 : 0))
    },
    watchLoad(read) {
      const running = gauge(METRIC.turnsRunning, 'Turns that have a place, from their body to their end.')
      const used = gauge(METRIC.memoryUsed, 'What they count for in memory.')
      const max = gauge(METRIC.memoryMax, 'The memory that turns may take together.')
      const queue = gauge(METRIC.queueLength, 'Turns that wait for a place.')
      const strained = gauge(METRIC.strained, 'Whether new turns are sent away because the event loop is behind.')
      atEachScrape(() => {
        const load = read()
        running.set(load.running)
        used.set(load.bytesTaken)
        max.set(load.bytesMax)
        queue.set(load.waiting)
        strained.set(Number(load.isStrained))
      })
    },
    watchAuditTrail(read) {
      const rows = gauge(METRIC.auditRows, 'Rows of the audit trail, which never are fewer.')
      const head = gauge(METRIC.auditHead, 'The first 48 bits of the hash of the last of them, as a number.')
      atEachScrape(async () => {
        const trail = await read()
        setOrHide(rows, trail?.rows)
        setOrHide(head, trail?.head)
      })
    },
  }
}

/** What is not known is not there: zero would be a claim. */
function setOrHide(gauge: Gauge, value: number | undefined): void {
  if (value === undefined) gauge.remove()
  else gauge.set(value)
}
