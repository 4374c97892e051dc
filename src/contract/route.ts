import type { z } from 'zod'

/** Who may ask. `anyone` needs no session; an owner has an account; an operator has all of them. */
export type Asker = 'anyone' | 'signed-in' | 'owner' | 'operator'

/**
 * One question or act of the console. The path is relative to `/console/api`; `:name` in it is an id. What comes in is
 * checked by these schemas, and what goes out is typed by them on both sides.
 */
export interface Route<Who extends Asker, Query extends z.ZodType, Body extends z.ZodType, Answer extends z.ZodType> {
  readonly who: Who
  /** Only within minutes of a password: what makes keys or moves money. `to-widen`: where it lets a key do more. */
  readonly confirmed: boolean | 'to-widen'
  readonly query: Query
  readonly body: Body
  readonly answer: Answer
}

export type AnyRoute = Route<Asker, z.ZodType, z.ZodType, z.ZodType>
