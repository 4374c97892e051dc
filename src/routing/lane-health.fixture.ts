import { createLaneHealth, type LaneHealth } from './lane-health.ts'
import type { RetryBudget } from './retry-budget.ts'

/** Every lane is asked, whatever was found out about it. */
export const everyLaneRequested: LaneHealth = createLaneHealth({
  nowMicros: () => 0,
  random: () => 0,
  failing: () => undefined,
  onChange: () => {},
})

export const anyNumberOfRetries: RetryBudget = { take: () => true, succeeded: () => {} }
