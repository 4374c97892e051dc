import type { Clock } from '../../lib/clock.ts'
import { type RandomBytes, uniform } from '../../lib/random-id.ts'
import type { OpenCircuit } from '../../routing/circuit-breaker.ts'
import { createLaneHealth, type LaneHealth } from '../../routing/lane-health.ts'
import type { OpenReason } from '../../routing/open-rules.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { RuleBook } from '../rules/rules.ts'

interface WatchDeps {
  readonly clock: Clock
  readonly random: RandomBytes
  readonly rules: RuleBook
  readonly log: Log
  readonly metrics: Metrics
}

/** The health of the lanes, with a line in the log when one is put aside and comes back, and a metric of those that are. */
export function watchLanes({ clock, random, rules, log, metrics }: WatchDeps): LaneHealth {
  const health = createLaneHealth({
    ticks: () => clock.ticks(),
    random: () => uniform(random),
    failing: () => rules.current.routing.putAside,
    onChange: (whose, aside) => say(log, whose, aside, clock.ticks()),
  })
  const lanes = () => rules.current.catalog.models.flatMap((model) => model.lanes)
  metrics.watchLanesAside(() =>
    lanes().flatMap((lane) => {
      const aside = health.openCircuitOf(lane)
      return aside ? [{ lane: lane.id, reason: aside.reason }] : []
    }),
  )
  return health
}

function say(log: Log, whose: string, aside: OpenCircuit | undefined, now: number): void {
  if (aside === undefined) {
    log.info({ lane: whose }, 'a lane is asked again')
    return
  }
  const facts = { lane: whose, seconds: Math.ceil((aside.until - now) / 1_000_000) }
  const { level, message } = WORDS[aside.reason]
  log[level](facts, message)
}

const WORDS = {
  busy: { level: 'info', message: 'a lane limits requests and is left alone' },
  overloaded: { level: 'info', message: 'a lane is overloaded and is left alone as it asks' },
  failing: { level: 'warn', message: 'a lane fails and is left alone' },
  'locked-out': {
    level: 'warn',
    message:
      'a provider refuses the credential, the account or the model name, and is left alone: millrace upstreams test says why',
  },
} as const satisfies Record<OpenReason, object>
