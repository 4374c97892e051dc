import { z } from 'zod'
import { count, money, moneyOrNull, pageOf, time } from './values.ts'

const bounds = { cost: moneyOrNull, requests: count.nullable(), tokens: count.nullable() }

const runFacts = {
  id: z.string(),
  state: z.enum(['open', 'ended']),
  opened_at: time,
  ends_at: time,
  /** Null where it has no bound. */
  budget: z.strictObject(bounds),
}

/** Less what running requests hold. Null where it has no bound; in a list also two days after its end. */
const remaining = z.strictObject(bounds)

const runItem = z.strictObject({ ...runFacts, parent: z.string().nullable(), remaining })

export const runsPage = pageOf(runItem)

/** Of ended requests, with those of the runs inside. */
const used = z.strictObject({ cost: money, requests: count, tokens: count })

const runFields = { ...runFacts, used }
const ownFields = z.strictObject(runFields)

/** A run inside another, with those inside it. */
interface RunNode extends z.output<typeof ownFields> {
  readonly runs: readonly RunNode[]
}

const runNode: z.ZodType<RunNode> = z.strictObject({
  ...runFields,
  runs: z.lazy(() => z.array(runNode)),
})

export const runDetail = z.strictObject({
  ...runFields,
  runs: z.array(runNode),
  parent: z.string().nullable(),
  remaining,
  /** Whether all runs inside are listed. `used` counts them anyway. */
  all_listed: z.boolean(),
})
