import type { ConsoleHouse } from '../../http/console/api/console-house.ts'
import { createMetricsServer } from '../../http/metrics-server.ts'
import { createEdge } from '../../http/server.ts'
import type { Closing } from '../../lib/closing.ts'
import { consoleDepsOf } from './console-deps-of.ts'
import { edgeDepsOf } from './edge-deps-of.ts'
import type { Serving } from './house.ts'
import { startJobs } from './jobs.ts'
import { openLoadGuard } from './open-load-guard.ts'
import { openSend } from './open-send.ts'
import type { Parts } from './parts.ts'
import { createTurnCounter } from './turn-counter.ts'

/** The servers, with the turns behind them, and the jobs beside them. */
export async function openServing(parts: Parts, house: ConsoleHouse, closing: Closing): Promise<Serving> {
  const { clock, random, means, metrics } = parts
  const turns = createTurnCounter()
  const { pools, send } = await openSend({ clock, random, ...means }, parts.rules.current.upstreams, closing)
  const console = await consoleDepsOf(parts, house)
  const http = createEdge(edgeDepsOf(parts, { turns, send, guard: openLoadGuard(parts, closing), console }))
  closing.add(async () => {
    const ended = http.stopAccepting()
    http.cut()
    await ended
  })
  metrics.watchReload(() => {
    const status = house.status()
    return status.running && status.reload_refused !== null
  })
  const metricsServer = createMetricsServer(metrics)
  closing.add(() => metricsServer.close())
  startJobs(parts, closing)
  closing.add(parts.ledger.onOutage(() => turns.cut('ledger-gone')))
  // What the last process did not come to count. Nobody waits for it.
  void parts.usage.catchUp()
  return {
    listen: http.listen,
    listenMetrics: metricsServer.listen,
    announceDrain: http.announceDrain,
    stopAccepting: http.stopAccepting,
    turnsEnded: turns.ended,
    cutTurns: () => turns.cut('draining'),
    cutConnections: http.cut,
    retireConnections: () => pools.keepOnly(parts.rules.current.upstreams),
    get turnsRunning() {
      return turns.running
    },
    get requestsServed() {
      return turns.served
    },
  }
}
