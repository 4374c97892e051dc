import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { remember } from '../lib/remember.ts'
import { METRIC } from './metric-names.ts'

/** What happens to requests and to the books. */
export interface CountedMetrics {
  /** `endpoint` is the route as it is written in the table of routes, never a path that a client made up. */
  requestEnded(request: { readonly endpoint: string; readonly status: number }): void
  /** A request, or a connection, was sent away, because this process cannot take on more. */
  shed(reason: string): void
  batchCommitted(batch: { readonly operations: number; readonly seconds: number }): void
  holdsRecovered(count: number): void
  /** What the last audit of the books found: zero, or somebody has to look. */
  booksAudited(report: { readonly violations: number }): void
}

const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
const COMMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1, 5]

export function createCountedMetrics(registry: Registry): CountedMetrics {
  const { requests, shed, ...books } = createSeries(registry)
  const endpoints = remember((endpoint: string) =>
    remember((status: number) => requests.labels(endpoint, String(status))),
  )
  return {
    requestEnded: ({ endpoint, status }) => endpoints(endpoint)(status).inc(),
    shed: (reason) => shed.labels(reason).inc(),
    batchCommitted({ operations, seconds }) {
      books.batchOperations.observe(operations)
      books.commitSeconds.observe(seconds)
    },
    holdsRecovered: (count) => books.holdsRecovered.inc(count),
    booksAudited({ violations }) {
      books.violations.set(violations)
      books.auditedAt.setToCurrentTime()
    },
  }
}

function createSeries(registry: Registry) {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[]) => new Histogram({ name, help, buckets, registers })
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  return {
    requests: counter(METRIC.requests, 'Requests by endpoint and status.', ['endpoint', 'status']),
    shed: counter(METRIC.shed, 'Sent away because this process cannot take on more, by reason.', ['reason']),
    batchOperations: histogram(METRIC.batchOperations, 'Ledger operations in one commit.', BATCH_SIZES),
    commitSeconds: histogram(METRIC.commitSeconds, 'Time until a ledger batch was durable.', COMMIT_SECONDS),
    holdsRecovered: counter(METRIC.holdsRecovered, 'Holds that recovery or the sweeper had to end.', []),
    violations: gauge(METRIC.violations, 'What the last audit of the books found broken.'),
    auditedAt: gauge(METRIC.auditedAt, 'When the books were audited last, in seconds since 1970.'),
  }
}
