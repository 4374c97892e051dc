import { z } from 'zod'
import { findUnseen, unseenInWords } from '../lib/find-unseen.ts'

/** Nothing at all: for acts without a body and questions without a query. */
export const nothing = z.strictObject({})

/** A decimal string in USD with at most nine decimals; a minus sign where money went. */
export const money = z.string().regex(/^-?\d+\.\d{2,9}$/)
export const moneyOrNull = money.nullable()
/** ISO 8601 in UTC. */
export const time = z.iso.datetime()
export const timeOrNull = time.nullable()
export const count = z.int().nonnegative()
export const keyKind = z.enum(['wallet', 'builder'])

/** Lists come in pages; `next` is what to hand in as `after` for the one behind it, null at the end. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ items: z.array(item), next: z.string().nullable() })

const LIMIT_MAX = 200

/** Numbers in a query are text. */
export const pageQuery = z.strictObject({
  after: z
    .string()
    .max(200)
    .regex(/^[\x21-\x7e]+$/, 'is not the next of a page')
    .optional(),
  limit: z.coerce.number().int().min(1).max(LIMIT_MAX).optional(),
})

/** Only what is seen: two names that look alike are one, and a terminal obeys nothing in them. */
export const seen = (text: z.ZodString): z.ZodString =>
  text.refine((value) => findUnseen(value) === undefined, { error: ({ input }) => unseenInWords(String(input)) })

/** What a person may write into a field: nothing that cannot be seen, no line of a novel. */
export const line = (max: number) => note(max).min(1)

/** The same, and may be left empty. */
export const note = (max: number) => seen(z.string().max(max))
