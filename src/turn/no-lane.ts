import type { Lane } from '../catalog/catalog.ts'
import { type Problem, problem } from '../model/problem.ts'
import type { LaneHealth } from '../routing/lane-health.ts'

/** Who tries a lane is soon back with an answer. */
const SOON_MICROS = 1_000_000

/** What is said when every lane is put aside: the soonest moment at which one of them is asked again. */
export function nobodyToAsk(health: LaneHealth, lanes: readonly Lane[], now: number): Problem {
  const asides = lanes.flatMap((lane) => health.asideOf(lane) ?? [])
  const soonest = Math.min(...asides.map(({ until }) => (until > now ? until - now : SOON_MICROS)), 600_000_000)
  const retryAfterSeconds = Math.max(1, Math.ceil(soonest / 1_000_000))
  if (asides.length > 0 && asides.every(({ reason }) => reason === 'busy')) {
    const message = `Every provider of this model limits requests at the moment. Nothing was charged; try again in ${retryAfterSeconds}s.`
    return problem('upstream_busy', message, { source: 'upstream', retryAfterSeconds })
  }
  const message = `No provider can serve this model now: those that could have failed and are left alone for a while. Nothing was charged; try again in ${retryAfterSeconds}s.`
  return problem('no_lane_available', message, { retryAfterSeconds })
}
