import { z } from 'zod'
import { capStatus, caps, setCaps } from './caps.ts'
import { count, line, time, timeOrNull } from './values.ts'

/** A team, and what is left of its budgets. Its keys share them, inside the account's wallet or plan. */
export const teamItem = z.strictObject({
  id: z.string(),
  account: z.string(),
  name: z.string(),
  /** Keys that are not revoked. */
  keys: count,
  caps: setCaps,
  spent: z.array(capStatus),
  created_at: time,
  archived_at: timeOrNull,
})

export const createTeamBody = z.strictObject({ name: line(100), caps: caps.optional() })

/** Absent terms stay. An archived team takes no new keys; its keys go on. */
export const changeTeamBody = createTeamBody.partial().extend({ archived: z.boolean().optional() })
