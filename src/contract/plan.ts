import { z } from 'zod'
import { requestItem } from './requests.ts'
import { count, money, timeOrNull } from './values.ts'

export const window = z.strictObject({
  /** `5h`, `7d`, `week`, `month`: what the plan calls it. */
  name: z.string(),
  /** One that nobody has used has not opened, and so has no times. */
  opened: z.boolean(),
  /** To be asked for its rows; null while it has not opened. */
  id: z.string().nullable(),
  start: timeOrNull,
  end: timeOrNull,
  limit: money,
  used: money,
  held: money,
  left: money,
  /** That have held on it; null when they are more than are counted for a page. */
  requests: count.nullable(),
})

export const planAnswer = z.strictObject({
  state: z.enum(['none', 'active', 'ended', 'not_configured']),
  plan: z.string().nullable(),
  since: timeOrNull,
  until: timeOrNull,
  billing_day: z.int().nullable(),
  /** The models that builder keys may call, by their base ids. */
  models: z.array(z.string()),
  windows: z.array(window),
  /** What was used of windows that are over, or that no plan of the account has any more; those that end last come first. */
  past: z.array(
    z.strictObject({ id: z.string(), name: z.string(), start: timeOrNull, end: timeOrNull, limit: money, used: money }),
  ),
})

/** The requests that make the bar: their charges add up to `used`, their holds to `held`. */
export const windowRows = z.strictObject({
  window,
  items: z.array(requestItem),
  next: z.string().nullable(),
})
