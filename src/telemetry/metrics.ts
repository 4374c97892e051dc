import { collectDefaultMetrics, Registry } from 'prom-client'
import { type CountedMetrics, createCountedMetrics } from './counted-metrics.ts'
import { createTurnMetrics, type TurnMetrics } from './turn-metrics.ts'
import { createWatchedMetrics, type GaugeReading, type WatchedMetrics } from './watched-metrics.ts'

/** What has happened is counted when it happens; how things stand is asked at each scrape. */
export interface Metrics extends CountedMetrics, TurnMetrics, WatchedMetrics {
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}

const LOOP_DELAY_PRECISION_MS = 20

/** A registry of our own: two servers in one test do not count into each other. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_DELAY_PRECISION_MS })
  const readings: GaugeReading[] = []
  return {
    ...createCountedMetrics(registry),
    ...createTurnMetrics(registry),
    ...createWatchedMetrics(registry, (reading) => readings.push(reading)),
    async render() {
      await Promise.all(readings.map((read) => read()))
      return { contentType: registry.contentType, body: await registry.metrics() }
    },
  }
}
