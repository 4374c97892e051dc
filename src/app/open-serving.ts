import { sweepPeople } from '../account/people/people-deps.ts'
import type { ConsoleHouse } from '../http/console-api/console-house.ts'
import { createMetricsServer } from '../http/metrics-server.ts'
import { createEdge } from '../http/server.ts'
import type { Closing } from '../lib/closing.ts'
import { consoleDepsOf } from './console-deps-of.ts'
import { edgeDepsOf } from './edge-deps-of.ts'
import type { Serving } from './house.ts'
import { openLoadGuard } from './open-load-guard.ts'
import { openSend } from './open-send.ts'
import type { ServingParts } from './serving-parts.ts'
import { startAuditor } from './start-auditor.ts'
import { startSweeper } from './start-sweeper.ts'
import { createTurnCounter } from './turn-counter.ts'

/** So long the hold of a turn that a fault of our own has lost may stand. */
const SWEEP_INTERVAL_MS = 5000
const PEOPLE_SWEEP_INTERVAL_MS = 600_000
const AUDIT_INTERVAL_MS = 3_600_000

/** The servers, with the turns behind them; beside them the sweepers and the auditor. */
export async function openServing(parts: ServingParts, house: ConsoleHouse, closing: Closing): Promise<Serving> {
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
  const metricsServer = createMetricsServer(metrics)
  closing.add(() => metricsServer.close())
  const { ledger, answers, responses, log } = parts
  closing.add(startSweeper({ sweep: () => ledger.sweep(), what: 'the books', log }, SWEEP_INTERVAL_MS))
  closing.add(startSweeper({ sweep: () => answers.sweep(), what: 'the kept answers', log }, SWEEP_INTERVAL_MS))
  closing.add(startSweeper({ sweep: () => responses.sweep(), what: 'the stored responses', log }, SWEEP_INTERVAL_MS))
  const sweep = () => sweepPeople(parts.people)
  closing.add(startSweeper({ sweep, what: 'sessions and invitations', log }, PEOPLE_SWEEP_INTERVAL_MS))
  closing.add(ledger.onOutage(() => turns.cut('ledger-gone')))
  closing.add(startAuditor(parts, AUDIT_INTERVAL_MS))
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
