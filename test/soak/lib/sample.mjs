import { setTimeout as sleep } from 'node:timers/promises'
import { memoryMb } from '../../../bench/lib/memory.mjs'
import { readMetrics } from '../../chaos/lib/read-metrics.mjs'

const EVERY_MS = 3000
const RESOURCE = /^nodejs_active_resources\{type="(\w+)"\}$/

/** What must be back at the end where it was at the beginning. */
export async function readHandles(metricsPort) {
  const series = await readMetrics(metricsPort)
  const resources = [...series].flatMap(([name, value]) => {
    const [, type] = RESOURCE.exec(name) ?? []
    return type ? [[type, value]] : []
  })
  return {
    holds: series.get('millrace_holds_open'),
    recovered: series.get('millrace_holds_recovered_total'),
    files: series.get('process_open_fds'),
    handles: series.get('nodejs_active_handles_total'),
    requests: series.get('nodejs_active_requests_total'),
    resources: Object.fromEntries(resources),
  }
}

/** Reads the memory of a server every few seconds until it is stopped. `x` is in minutes. */
export function startSampling({ pid, metricsPort }) {
  const samples = []
  const began = performance.now()
  const state = { stopped: false }
  const loop = async () => {
    while (!state.stopped) {
      const series = await readMetrics(metricsPort)
      samples.push({
        x: (performance.now() - began) / 60_000,
        pss: memoryMb(pid),
        rss: series.get('process_resident_memory_bytes') / 1e6,
        heap: series.get('nodejs_heap_size_used_bytes') / 1e6,
        'heap, all of it': series.get('nodejs_heap_size_total_bytes') / 1e6,
        external: series.get('nodejs_external_memory_bytes') / 1e6,
        holds: series.get('millrace_holds_open'),
        files: series.get('process_open_fds'),
      })
      await sleep(EVERY_MS)
    }
  }
  const ended = loop()
  return {
    samples,
    stop() {
      state.stopped = true
      return ended
    },
  }
}
