import { z } from 'zod'
import { describeUnseen, findUnseen } from '../lib/text.ts'

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
/** How many are on a page when nobody says. */
const PAGE_LIMIT = 50

/** What every list is asked with: `after` is the `next` of the page before. Numbers in a query of HTTP are text. */
export const pageQuery = z.strictObject({
  after: z
    .string()
    .max(320)
    .regex(/^[\x21-\x7e]+$/, 'is not the next of a page')
    .optional(),
  limit: z.coerce.number<number>().int().min(1).max(LIMIT_MAX).default(PAGE_LIMIT),
})
export type PageQuery = z.output<typeof pageQuery>

/** Only what is seen: two names that look alike are one, and a terminal obeys nothing in them. */
const seen = (text: z.ZodString): z.ZodString =>
  text.refine((value) => findUnseen(value) === undefined, { error: ({ input }) => describeUnseen(String(input)) })

/** A person's words on one line: nothing that cannot be seen, nothing empty, no line of a novel. */
export const line = (charactersMax: number) => note(charactersMax).min(1, 'is empty')

/** The same, and may be left empty. */
export const note = (charactersMax: number) =>
  seen(z.string().trim().max(charactersMax, `is longer than ${charactersMax} characters`))

/** What an account, a key, a person or a request is named by: an id or an e-mail, which nobody needs to write longer. */
export const named = line(320)

/**
 * Only the shape is looked at: whether an address exists is found out by writing to it, and `root@localhost` is a good
 * one on a machine of one's own. Two spellings of one address must not become two accounts.
 */
export const email = seen(z.string().trim().toLowerCase()).refine(
  (address) => address.length <= 254 && /^[^\s@]+@[^\s@]+$/.test(address),
  'must be an e-mail address, such as name@example.com',
)

/** An amount of USD as somebody writes it: a JSON number would already have been rounded. */
export const amount = z.string().max(30)

/** A moment to come: a date (`2027-01-31`), or a span from now (`30d`, `12h`). */
export const moment = z.string().max(40)

/** Who may ask. `anyone` needs no session; an owner has an account; an operator has all of them. */
export type Requester = 'anyone' | 'signed-in' | 'owner' | 'operator'

/**
 * One question or act of the console. The path is relative to `/console/api`; `:name` in it is an id. What comes in is
 * checked by these schemas, and what goes out is typed by them on both sides.
 */
export interface Route<
  Who extends Requester,
  Query extends z.ZodType,
  Body extends z.ZodType,
  Answer extends z.ZodType,
> {
  readonly who: Who
  /** Only within minutes of a password: what makes keys or moves money. `to-widen`: where it lets a key do more. */
  readonly confirmed: boolean | 'to-widen'
  readonly query: Query
  readonly body: Body
  readonly answer: Answer
}

export type AnyRoute = Route<Requester, z.ZodType, z.ZodType, z.ZodType>

/** Why something was refused. The console words what it knows and shows `message` for the rest. */
export interface ConsoleError {
  readonly error: {
    readonly code: string
    readonly message: string
    /** The field of the body or the query that is to blame. */
    readonly param: string | null
    readonly request_id: string
    /** Whole seconds, where trying again later helps. */
    readonly retry_after: number | null
  }
}
