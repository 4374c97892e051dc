import { z } from 'zod'
import { planAnswer } from './plan.ts'
import { requestItem } from './requests.ts'
import { used } from './usage.ts'
import { count, line, time } from './values.ts'
import { wallet } from './wallet.ts'

export const overviewAnswer = z.strictObject({
  wallet,
  plan: z.strictObject({
    state: planAnswer.shape.state,
    plan: planAnswer.shape.plan,
    windows: planAnswer.shape.windows,
  }),
  recent: z.array(requestItem),
  keys: z.strictObject({ active: count, total: count }),
  /** A model to begin with, for an account that has asked nothing yet. */
  suggested_model: z.string().nullable(),
})

export const latelyUsedQuery = z.strictObject({ zone: line(64) })

/** Asked apart from the rest: what is wrong with the roll-ups must not hide the money. */
export const latelyUsed = z.strictObject({
  /** Since midnight in `zone`. */
  today: used,
  /** In the same time: refused before they began, so that they are in no receipt. */
  refused_today: count,
  /** The last 24 hours, hour by hour. */
  hours: z.array(z.strictObject({ from: time, used })),
})
